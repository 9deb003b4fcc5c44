import type { Schemas } from '../../schema/openapi.d.ts';

/** What the server sends and takes, from the description of its API. */
export type AuditEvent = Schemas['AuditEvent'];
export type AuditPage = Schemas['AuditPage'];
export type Rows = Schemas['Rows'];
export type Row = Rows['data'][number];
export type Histogram = Schemas['Histogram'];
export type TopFiles = Schemas['TopFiles'];
export type TopValues = Schemas['TopValues'];
export type ReceiptsPage = Schemas['ReceiptsPage'];
export type Receipt = Schemas['Receipt'];
export type Whoami = Schemas['Whoami'];
export type EvidenceInclusion = Schemas['EvidenceInclusion'];
export type Role = Schemas['Role'];
export type ApiKey = Schemas['ApiKey'];
export type ApiKeys = Schemas['ApiKeys'];
export type IssuedApiKey = Schemas['IssuedApiKey'];
export type NewApiKey = Schemas['NewApiKey'];
export type OrganizationName = Schemas['OrganizationName'];
export type PasswordLink = Schemas['PasswordLink'];
export type Problem = Schemas['Problem'];
export type Settings = Schemas['Settings'];
export type SignOnOptions = Schemas['SignOnOptions'];
export type User = Schemas['User'];
export type Users = Schemas['Users'];
