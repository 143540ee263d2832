// The index of a gallery that is a site of files: what plays a run is a page of its own.
import { current } from "../lib/address.js";
import { recordedAnswer } from "../lib/recorded.js";
import { show } from "../scenarios/view.js";
import { begin } from "./page.js";

begin("scenarios", (root, address) => {
  const { view, params } = current();
  const name = params.get("scenario");
  const known = /** @type {import("../wire.js").GalleryItem[]} */ (recordedAnswer("/lab/scenarios"));
  if (view !== "play" || !known.some((item) => item.name === name)) return show(root, address);
  location.replace(`${name}.html`);
  return () => {};
});
