// A recorded run that plays without a server.
import { recordedAnswer } from "../lib/recorded.js";
import { show } from "../play/view.js";
import { begin } from "./page.js";

begin("play", show, { scenario: recordedAnswer("/lab/scenarios")[0].name });
