/**
 * The fixed part of every audit event (contract: Audit event). Only the varying part is stored; a reader assembles
 *
 *   eventHead + stored text + `"logged_time":<Unix microseconds>` + eventTail(names)
 *
 * where the stored text runs from `"time":` to the inside of the `metadata` object.
 */
export const eventHead =
  '{"category_name":"Audit","category_uid":3,"class_name":"Application Activity","class_uid":3001,"type_uid":300101,';

export interface ProductNames {
  readonly vendorName: string;
  readonly productName: string;
}

export function eventTail({ vendorName, productName }: ProductNames): string {
  const product = JSON.stringify({ name: productName, vendor_name: vendorName });
  return `,"product":${product},"version":"1.1.0"}}`;
}
