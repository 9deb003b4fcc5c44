/**
 * The columns of the table of events in the order in which they travel, with the types that they travel in; the engine
 * converts strings to its low-cardinality columns. `seq` comes last, see ingest/native-block.ts.
 */
export const eventColumns = {
  org: 'UUID',
  time: "DateTime64(6, 'UTC')",
  activity_id: 'Int64',
  activity_name: 'String',
  severity: 'String',
  status: 'String',
  level: 'String',
  result_code: 'Int64',
  actor_email: 'String',
  actor_id: 'String',
  names: 'Array(String)',
  file_hash: 'Array(String)',
  file_name: 'String',
  target_name: 'String',
  flow_id: 'UUID',
  expires: 'Date',
  own: 'Bool',
  ocsf: 'String',
  source: 'String',
  seq: 'UInt64',
} as const;
