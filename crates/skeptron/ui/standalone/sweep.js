// A sweep that is shown without a server.
import { show } from "../sweep/report.js";
import { begin } from "./page.js";

begin("sweep", show);
