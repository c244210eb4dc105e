/** Fits texts to the protocol's limits: bytes of UTF-8, and no U+0000. */

/** Error messages, reasons, progress messages. */
export const MESSAGE_BYTES_MAX = 16 << 10;
/** Codes and other names. */
export const NAME_BYTES_MAX = 255;
/** Log lines. */
export const LINE_BYTES_MAX = 64 << 10;

/** The first bytes of a text, up to a character boundary. */
export function truncate(text: string, bytesMax: number): string {
  return chunks(text, bytesMax)[0] ?? "";
}

/** The default for a name that the server refuses, together with the lines that are sent with it. */
export function nameOr(name: string, otherwise: string): string {
  return name !== "" && !name.includes("\0") && Buffer.byteLength(name) <= NAME_BYTES_MAX ? name : otherwise;
}

/** The text in chunks of at most this many bytes; an empty text is one chunk. */
export function chunks(text: string, bytesMax: number): string[] {
  const clean = text.toWellFormed().replaceAll("\0", "?");
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (clean.length * 3 <= bytesMax) return [clean];
  const bytes = Buffer.from(clean);
  const found: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = boundary(bytes, start + bytesMax);
    found.push(bytes.toString("utf8", start, end));
    start = end;
  }
  return found;
}

/** The last position up to `end` at which a character begins. */
function boundary(bytes: Buffer, end: number): number {
  if (end >= bytes.length) return bytes.length;
  let at = end;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1;
  return at;
}
