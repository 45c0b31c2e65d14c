// A browser that opens the page of a run at a link, LINK, several times: when it was useful, s after its address was opened,
// and then what a redraw takes of script, ms. One JSON object on the last line.
// Usage: node browser.mjs CHROMIUM PLAYWRIGHT LINK INSTANCES SECONDS

const [program, library, link, instances, seconds] = process.argv.slice(2);
const { chromium } = await import(library);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
let news = 0;
page.on("response", (answer) => answer.url().includes("/api/news") && answer.ok() && ++news);

const drawn = `document.querySelectorAll("svg.model .tile").length >= ${Number(instances)} && document.querySelector("h1") !== null`;
const began = performance.now();
await page.goto(link, { waitUntil: "commit" });
while (!(await page.evaluate(drawn).catch(() => false))) {
  if (performance.now() - began > 60_000) throw new Error("the page never became useful");
  await new Promise((done) => setTimeout(done, 5));
}
const useful = (performance.now() - began) / 1000;

// What has to be made once is made by then.
await new Promise((done) => setTimeout(done, 2000));
const session = await context.newCDPSession(page);
await session.send("Performance.enable");
const script = async () => {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "ScriptDuration").value * 1000;
};
const [before, first] = [await script(), news];
// Of a large run there is news less often than four times a second.
const start = performance.now();
while (performance.now() - start < Number(seconds) * 1000 || (news - first < 3 && performance.now() - start < 60_000)) {
  await new Promise((done) => setTimeout(done, 100));
}
const [spent, redraws] = [(await script()) - before, news - first];
console.log(JSON.stringify({ useful, redraws, script: redraws > 0 ? spent / redraws : null }));
await browser.close();
