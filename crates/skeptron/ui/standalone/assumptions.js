// The table of assumptions that is shown without a server.
import { show } from "../check/report.js";
import { begin } from "./page.js";

begin("check", show);
