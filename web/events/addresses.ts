const octets = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** Whether the server accepts the text as an address or range. It rejects the unspecified address. */
export function isAddress(text: string): boolean {
  const [address = '', bits = '0', ...more] = text.split('/');
  const isWide = address.includes(':');
  const isOne = isWide
    ? URL.canParse(`http://[${address}]`) && /[1-9a-f]/i.test(address)
    : octets.test(address);
  return (
    isOne && more.length === 0 && /^(?:0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (isWide ? 128 : 32)
  );
}

/** The range of an address or of its beginning: `10.0.0` gives `10.0.0.0/24`. */
export function rangeOf(text: string): string | undefined {
  const isWide = text.includes(':');
  if (!(isWide ? /^[\da-f]+:[\da-f:]*$/i : /^\d+\.[\d.]*$/).test(text)) return undefined;
  const [beginning = ''] = text.split('::');
  // The range has the address's neighbours: 256 of IPv4, a subnet of IPv6.
  const parts = beginning
    .split(isWide ? ':' : '.')
    .filter(Boolean)
    .slice(0, isWide ? 4 : 3);
  const range = isWide
    ? `${parts.join(':')}::/${16 * parts.length}`
    : `${[...parts, 0, 0, 0].slice(0, 4).join('.')}/${8 * parts.length}`;
  return isAddress(range) ? range : undefined;
}
