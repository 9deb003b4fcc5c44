/**
 * The columns of a CSV export (contract: Read, export) as SQL over a row of `events`. `ocsf` is our own text
 * with a fixed order of members, so it is searched instead of parsed:
 *
 *     "time":…,"message":…,"actor":{…},…,"flow_id":…   ,"enrichments":[…],"extra_map":{…},"metadata":{…
 *     └────────────────── head ──────────────────┘
 *
 * A needle such as `"message":` cannot occur inside a string, which has a backslash before each quotation
 * mark.
 */

/**
 * From `,"extra_map":` to the last `,"metadata":{`, searched from the end, as `extra` may have such a member.
 * (`simpleJSONExtractRaw` fails on some nested texts.)
 */
const extraMap = `multiIf(map_at = 0, '',
  endsWith(ocsf, ',"metadata":{'), substring(extra_text, map_at + 13, length(extra_text) - map_at - 25),
  substring(extra_text, map_at + 13,
    length(extra_text) - map_at - 24 - position(reverse(extra_text), '{:"atadatem",')))`;

const aliases = `
  position(ocsf, ',"enrichments":[') AS extra_at,
  if(extra_at > 0, substring(ocsf, 1, extra_at), ocsf) AS head,
  if(extra_at > 0, substring(ocsf, extra_at), '') AS extra_text,
  position(extra_text, ',"extra_map":') AS map_at`;

/**
 * Separators, controls, format characters, the empty Braille pattern, and Unicode's default-ignorable ones, for which RE2 has no
 * class.
 */
const invisible = [
  String.raw`\p{Z}\p{Cc}\p{Cf}\x{2800}`,
  String.raw`\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{3164}`,
  String.raw`\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFF8}\x{E0000}-\x{E0FFF}`,
].join('');
/** RE2 in SQL: the first visible character is = + - @, also in full width, or follows a tab or CR. */
const formula = String.raw`[${invisible}]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}\t\r]`.replaceAll(
  '\\',
  '\\\\',
);

const ofHead = (member: string): string => `simpleJSONExtractString(head, '${member}')`;

const isFlow = "flow_id != toUUID('00000000-0000-0000-0000-000000000000')";

interface Column {
  readonly name: string;
  readonly cell: string;
  /** Whether a cell may contain quotation marks. */
  readonly isText: boolean;
  readonly typed: string;
}

const text = (name: string, cell: string, value = `nullIf(${cell}, '')`): Column => ({
  name,
  cell,
  isText: true,
  typed: value,
});

const typed = (name: string, cell: string, value: string): Column => ({
  name,
  cell,
  isText: false,
  typed: value,
});

const columns: readonly Column[] = [
  typed('time', 'toString(toUnixTimestamp64Micro(time))', 'toUnixTimestamp64Micro(time)'),
  typed('time_iso', "formatDateTime(time, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC')", 'time'),
  typed('activity_id', 'toString(activity_id)', 'activity_id'),
  text('activity_name', 'toString(activity_name)', 'toString(activity_name)'),
  typed('severity', 'toString(severity)', 'toString(severity)'),
  typed('status', 'toString(status)', 'toString(status)'),
  text('status_detail', ofHead('status_detail')),
  text('message', ofHead('message'), ofHead('message')),
  text('actor_name', ofHead('name')),
  text('actor_email', ofHead('email_addr')),
  text('actor_type', ofHead('type')),
  text('src_ip', ofHead('ip')),
  typed(
    'src_port',
    "simpleJSONExtractRaw(head, 'port')",
    "toUInt16OrNull(simpleJSONExtractRaw(head, 'port'))",
  ),
  typed(
    'flow_id',
    `if(${isFlow}, toString(flow_id), '')`,
    `if(${isFlow}, toNullable(toString(flow_id)), NULL)`,
  ),
  text('target_name', 'target_name'),
  text('file_name', 'file_name'),
  text('extra_map', extraMap),
];

export const csvNames: readonly string[] = columns.map(({ name }) => name);

export const csvHeader = `${csvNames.join(',')}\r\n`;

/** `WITH` aliases of the cells. */
export const csvAliases = aliases;

const cells = columns.map(({ cell, isText }) => (isText ? `replaceAll(${cell}, '"', '""')` : cell));

/**
 * A line without its end. One text costs the engine less than its CSV format, and one search for formulas less than one for each
 * cell. Quotation marks within a cell are doubled, so a formula behind `","` is the begin of a cell. `extra_map`, the last cell, is
 * an object: no formula.
 */
export const csvLine =
  `concat(replaceRegexpAll(concat('"', ${cells.slice(0, -1).join(`, '","', `)}), ` +
  `'","(${formula})', '","\\'\\\\1'), '","', ${cells.at(-1)}, '"')`;

export const byteOrderMark = '\uFEFF';

const excelCellCharactersMax = 32_767;

/** SQL: the number of cells that Excel would truncate. */
export function countLongCells(where: string): string {
  const isLong = `greatest(length(ocsf), length(file_name), length(target_name)) > ${excelCellCharactersMax}`;
  const characters = `lengthUTF8(cell) + match(cell, '^${formula}')`;
  return (
    `SELECT sum(arrayCount(cell -> ${characters} > ${excelCellCharactersMax}, cells)) FROM (` +
    `WITH ${csvAliases} SELECT [${columns.map(({ cell }) => cell).join(', ')}] AS cells ` +
    `FROM events WHERE (${where}) AND ${isLong})`
  );
}

/** The same columns for Parquet: numbers and instants as such, null for absent values. */
export const typedColumns: readonly string[] = columns.map(({ typed }, index) => `${typed} AS c${index}`);
