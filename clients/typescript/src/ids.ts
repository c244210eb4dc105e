import { randomBytes } from "node:crypto";

/** A new UUID of version 7: keys of the same time are stored next to each other, which costs the server less. */
export function freshId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A key for a job whose caller gave none. */
export function generatedKey(): string {
  return `auto-${freshId()}`;
}
