// The command that does the same in a terminal, to be copied.
import { h, toast } from "./dom.js";
import { sheet } from "./sheet.js";
import { say } from "./language.js";

/**
 * @param {string} command
 * @returns {HTMLElement}
 */
export function commandLine(command) {
  sheet("/ui/lib/command.css");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      toast(say("Command copied."));
    } catch {
      toast(say("The browser does not let the page copy; select the command instead."));
    }
  };
  return h("div", { class: "command" }, h("code", { "data-test": "command" }, command),
    h("button", { type: "button", class: "quiet", title: say("Copy the command that asks the same in a terminal"), onclick: copy }, say("Copy")));
}
