// Several files as one: a ZIP that stores them as they are.

const encoder = new TextEncoder();

/**
 * @param {{ name: string, bytes: Uint8Array<ArrayBuffer> }[]} files
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function zip(files) {
  /** @type {Uint8Array[]} */
  const parts = [];
  /** @type {Uint8Array[]} */
  const directory = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const title = encoder.encode(name);
    // Version 2.0, names in UTF-8, stored, the first of January 1980: the same pictures make the same file.
    const known = [2, 20, 2, 0x0800, 2, 0, 2, 0, 2, 0x21, 4, crc32(bytes), 4, bytes.length, 4, bytes.length, 2, title.length, 2, 0];
    const head = numbers(4, 0x04034b50, ...known);
    directory.push(numbers(4, 0x02014b50, 2, 20, ...known, 2, 0, 2, 0, 2, 0, 4, 0, 4, at), title);
    parts.push(head, title, bytes);
    at += head.length + title.length + bytes.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = numbers(4, 0x06054b50, 2, 0, 2, 0, 2, files.length, 2, files.length, 4, size, 4, at, 2, 0);
  return joined([...parts, ...directory, end]);
}

/**
 * Numbers, the lowest byte first: each after how many bytes it takes.
 * @param {...number} pairs
 */
function numbers(...pairs) {
  const bytes = [];
  for (let k = 0; k < pairs.length; k += 2) {
    for (let byte = 0; byte < pairs[k]; byte++) bytes.push((pairs[k + 1] >>> (8 * byte)) & 0xff);
  }
  return Uint8Array.from(bytes);
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 0xff];
  return (sum ^ 0xffffffff) >>> 0;
}
