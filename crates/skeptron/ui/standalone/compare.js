// A comparison that is shown without a server.
import { show } from "../compare/report.js";
import { begin } from "./page.js";

begin("compare", show);
