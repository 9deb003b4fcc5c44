/**
 * The columns of events in the order and with the types in which they travel. `seq` comes last, see
 * ingest/native-block.ts.
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
