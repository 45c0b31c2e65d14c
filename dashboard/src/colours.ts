// Colour maps that people with any colour vision can read, in equal steps of lightness: a few colours of each,
// and straight lines between them.

/**
 * Cividis (Nuñez, Anderton & Renslow, PLOS ONE 2018), viridis (Smith & van der Walt, CC0), and two sides from a
 * middle.
 */
export const MAPS = {
  cividis: ["00204d", "00336f", "39486b", "575d6d", "707173", "8a8779", "a69d75", "c4b56c", "e4cf5b", "ffea46"],
  viridis: ["440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725"],
  "two sides": ["003c66", "0072b2", "7fb8d8", "f7f7f7", "eaa97f", "d55e00", "7a3600"],
  grey: ["000000", "ffffff"],
} as const;

export type MapName = keyof typeof MAPS;

/** Number of colours in a map; each has three bytes. */
export function colours(name: MapName, many = 256): Uint8Array {
  const stops = MAPS[name].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const found = new Uint8Array(3 * many);
  for (let i = 0; i < many; i += 1) {
    const place = (i / (many - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    for (let part = 0; part < 3; part += 1) {
      const [low, high] = [stops[before]![part]!, stops[before + 1]![part]!];
      found[3 * i + part] = Math.round(low + (high - low) * (place - before));
    }
  }
  return found;
}

/** The range of a map. The middle of a map with two sides is 0. */
export function rangeFor(name: MapName, low: number, high: number): [number, number] {
  if (name !== "two sides") return [low, high];
  const far = Math.max(Math.abs(low), Math.abs(high));
  return [-far, far];
}
