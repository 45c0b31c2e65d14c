// A browser that does what it is told: one JSON object a line comes in, one goes out.

import { chromium } from "playwright-core";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--host-resolver-rules=MAP hub.test 127.0.0.1", "--enable-unsafe-swiftshader"] });
const said = [];
const viewers = {};

/** Somebody with a browser of their own: their cookies are nobody else's. */
async function viewer(name) {
  if (viewers[name]) return viewers[name];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  return (viewers[name] = { name, context, page });
}

const limit = { timeout: 120_000 };
const BUILT = new URL("../../dashboard/built/", import.meta.url);
const KINDS = { html: "text/html", js: "text/javascript", css: "text/css" };

/** What is answered at other addresses than that of news, unless a test says so. */
const NOTHING = {
  "api/plan": { nodes: [], links: [] },
  "api/timeline": { kinds: [], seconds: 0, started: "", rows: [] },
  "api/steering": { history: [] },
  "api/log": { text: "", next: 0 },
  "api/output": { text: "", next: 0 },
};

/** The page without a server: its own files, and whatever a test says is answered. News are told one after the other. */
async function answered(route, who) {
  const url = new URL(route.request().url());
  const path = url.pathname.slice(1) || "index.html";
  const kind = KINDS[path.split(".").at(-1)];
  if (kind) return route.fulfill({ contentType: kind, body: await readFile(new URL(path, BUILT)) });
  if (path === "api/tap") {
    who.asked.push(url.searchParams.get("port"));
    const frame = who.frames.shift();
    if (!frame) {
      await new Promise((done) => setTimeout(done, 50));
      return route.fulfill({ json: { kind: "same", frame: 0 } });
    }
    const elements = Buffer.from(new Float64Array(frame.elements).buffer);
    return route.fulfill({ body: Buffer.concat([Buffer.from(`${JSON.stringify(frame.head)}\n`), elements]) });
  }
  if (path === "api/surface") {
    const level = url.searchParams.get("level");
    who.asked.push(`${url.searchParams.get("grid")}.${url.searchParams.get("field")} = ${level}`);
    const at = who.surfaces.findIndex((one) => String(one.level) === level);
    if (at < 0) {
      await new Promise((done) => setTimeout(done, 50));
      return route.fulfill({ json: { frame: Number(url.searchParams.get("has")), over: false } });
    }
    const [{ head, blocks, fails }] = who.surfaces.splice(at, 1);
    if (fails) return route.abort();
    const body = [Buffer.from(`${JSON.stringify(head)}\n`), ...blocks.map((text) => Buffer.from(text, "base64"))];
    return route.fulfill({ body: Buffer.concat(body) });
  }
  if (path !== "api/news") return route.fulfill({ json: who.answers[path] ?? NOTHING[path] ?? {} });
  while (who.news.length === 0) {
    if (!viewers[who.name]) return route.abort();
    await new Promise((done) => setTimeout(done, 20));
  }
  await route.fulfill({ json: who.news.shift() });
}
const deeds = {
  // The page, of which a test says what its server answers: news, and what is at other addresses.
  script: async ({ answers, before }, who) => {
    if (before) await who.context.addInitScript(before);
    Object.assign(who, { answers: answers ?? {}, news: [], frames: [], surfaces: [], asked: [] });
    await who.context.route("http://scripted.test/**", (route) => answered(route, who).catch(() => {}));
    await who.page.goto("http://scripted.test/", limit);
  },
  news: ({ news }, who) => void who.news.push(...news),
  frame: ({ frame }, who) => void who.frames.push(frame),
  // An answer about surfaces, for whoever asks for their level, or for all of their levels.
  surface: ({ surface }, who) => void who.surfaces.push(surface),
  asked: (_, who) => who.asked.at(-1) ?? null,
  size: ({ width, height }, { page }) => page.setViewportSize({ width, height }).then(() => null),
  open: ({ link }, { page }) => page.goto(link, limit).then(() => null),
  // A JavaScript expression: its value, as soon as that is true.
  until: async ({ what }, { page }) => {
    // Playwright's own way would evaluate text in the page, which the page forbids.
    const late = Date.now() + limit.timeout;
    for (;;) {
      // It may ask about what is not on the page yet: that is an error only at the end.
      let why = "";
      const found = await page.evaluate(what).catch((error) => void (why = `: ${error}`));
      if (found) return found;
      if (Date.now() > late) throw new Error(`it did not come to be that ${what}${why}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  },
  tell: ({ what }, { page }) => page.evaluate(what),
  press: ({ key }, { page }) => page.keyboard.press(key).then(() => null),
  fill: ({ place, text }, { page }) => page.fill(place, text, limit).then(() => null),
  scheme: ({ scheme }, { page }) => page.emulateMedia({ colorScheme: scheme }).then(() => null),
  click: ({ place }, { page }) => page.click(place, limit).then(() => null),
  drag: async ({ place, by: [right, down] }, { page }) => {
    await page.locator(place).scrollIntoViewIfNeeded(limit);
    const { x, y, width, height } = await page.locator(place).boundingBox(limit);
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + right, y + height / 2 + down, { steps: 4 });
    await page.mouse.up();
  },
  picture: ({ place, path }, { page }) => page.locator(place).screenshot({ path, ...limit }).then(() => null),
  // Clicks where a file is to be had: its name, and what is in it.
  download: async ({ place }, { page }) => {
    const [file] = await Promise.all([page.waitForEvent("download", limit), page.click(place, limit)]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  },
  cookies: (_, { context }) => context.cookies(),
  said: () => said.splice(0),
  // Whoever comes next has never been here.
  forget: async () => {
    for (const name of Object.keys(viewers)) {
      const { context } = viewers[name];
      delete viewers[name];
      await context.close();
    }
    said.splice(0);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const who = asked.do === "forget" ? {} : await viewer(asked.viewer ?? "");
  let told;
  try {
    told = { told: (await deeds[asked.do](asked, who)) ?? null };
  } catch (error) {
    const body = await who.page?.innerText("body").catch(() => "");
    told = { error: `${error}\nThe page says:\n${(body ?? "").slice(0, 3000)}\nThe console: ${said.join("\n")}` };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await browser.close();
