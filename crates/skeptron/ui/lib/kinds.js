// Written from the table of kinds of messages; see markup/src/kinds.rs.

/** What each kind of message is for. @type {Readonly<Record<string, string>>} */
export const ROLES = {
  REQUEST: "request",
  REPLY: "grant",
  ACK: "grant",
  RELEASE: "release",
  TOKEN: "token",
  PRIVILEGE: "token",
  INFORM: "announce",
  LOCKED: "grant",
  FAILED: "deny",
  INQUIRE: "inquire",
  RELINQUISH: "yield",
  ASK: "inquire",
  LEFT: "release",
  WANT: "yield",
  LEND: "grant",
  DENY: "deny",
  ELECTION: "request",
  OK: "grant",
  COORDINATOR: "announce",
  PROBE: "request",
  ELECTED: "announce",
  EXPLORER: "request",
  ECHO: "grant",
  LEADER: "announce",
  AYCOORD: "inquire",
  ANSWER: "grant",
  INVITATION: "request",
  ACCEPT: "yield",
  READY: "announce",
};

/** The colour of each role on light and on dark ground. @type {Readonly<Record<string, { light: string, dark: string }>>} */
export const COLOURS = {
  request: { light: "#006aa8", dark: "#56b4e9" },
  grant: { light: "#007a55", dark: "#2fc79a" },
  release: { light: "#a03d80", dark: "#e38cc1" },
  token: { light: "#8a5a00", dark: "#e69f00" },
  deny: { light: "#b3420a", dark: "#f0895a" },
  inquire: { light: "#5b4bc4", dark: "#a79cf0" },
  yield: { light: "#5f6b2d", dark: "#b9c766" },
  announce: { light: "#8a2f2f", dark: "#e8a0a0" },
  other: { light: "#5a6675", dark: "#a3afbe" },
};
