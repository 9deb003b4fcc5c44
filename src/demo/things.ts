import type { Draw } from './draw.ts';

/** Something that events are about. */
export interface DemoThing {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** JSON text of `message.target`. */
  readonly json: string;
}

export interface DemoFile extends DemoThing {
  readonly bytes: number;
  readonly sha256: string;
  /** JSON members of `message.extra` that tell of it, without braces. */
  readonly extraJson: string;
}

const fileNames: readonly string[] = [
  'Quarterly report Q3 (final).xlsx',
  'Q4 budget — draft 2.xlsx',
  'Vertrag Müller & Söhne GmbH.pdf',
  'Gehaltsübersicht 2026.xlsx',
  'Contrat de prestation signé.pdf',
  'Présentation été 2026.pptx',
  'Relatório de vendas – São Paulo.pdf',
  'Ação judicial nº 17.docx',
  '四半期報告書.xlsx',
  '議事録 2026年10月.docx',
  '設計図面_v3.dwg',
  '会議室の写真.jpg',
  '分析报告（最终版）.pdf',
  '회의록 최종.docx',
  'تقرير المبيعات السنوي.pdf',
  'عقد الإيجار.docx',
  'דוח רבעוני.pdf',
  'Отчёт за октябрь.docx',
  'Договор поставки №42.pdf',
  'Πρακτικά συνεδρίασης.docx',
  'वार्षिक प्रतिवेदन.pdf',
  'Báo cáo tài chính.xlsx',
  'launch plan 🚀.pptx',
  'team photo 📸 offsite.png',
  'customer list "VIP".csv',
  'R&D roadmap.md',
  "O'Brien expenses.xlsx",
  'backup_2026-11-01.tar.gz',
  'passport scan.pdf',
  'invoice 2026-000417.pdf',
  'NDA_signed_v2.pdf',
  'board minutes (confidential).docx',
  'pentest findings.pdf',
  'training set part 7.parquet',
  'keynote recording.mp4',
  'all-hands 2026-11.mp4',
  'product demo 4K.mov',
  'podcast épisode 12.mp3',
  'sensor dump 0042.bin',
  'site plan – Sydney.pdf',
  'README.txt',
  'index.html',
  'schema.sql',
  'logo.svg',
  'Kostenvoranschlag Straße 12.pdf',
  'Łódź warehouse inventory.csv',
  'payroll_november.csv',
  'marketing assets.zip',
  'firmware-7.3.0.img',
  'tax return 2025.pdf',
];
const folders: readonly string[] = [
  'Finance/2026',
  'Finance/Payroll',
  'Legal/Contracts',
  'Legal/NDA',
  'Research/Genomics',
  'Research/共有',
  'Sales/EMEA',
  'Sales/APAC',
  'People/Onboarding',
  'Engineering/Releases',
  'Marketing/Kampagnen',
  'Marketing/Video',
  'Operations/Склад',
  'Board',
  'Shared/Partners',
];
const names = {
  policy: [
    'External sharing needs approval',
    'Block uploads from unmanaged devices',
    'Retain contracts 10 years',
    'DLP: payment cards',
    'EU data stays in the EU',
    'Länderrichtlinie DE',
  ],
  networkRule: ['office-berlin', 'office-東京', 'vpn-egress', 'partner-lab', 'deny-tor-exits', 'ci-runners'],
  storage: ['primary-eu-central', 'archive-cold', 'video-us-east', 'research-ap-northeast'],
  apiKey: ['SIEM collector', 'CI uploads', 'Data warehouse sync', 'Legacy import', 'Mobile backend'],
  group: ['Finance approvers', 'Engineering', 'Auditors', 'Contractors', 'Direção', '東京オフィス'],
  project: ['Atlas', 'Blue Heron', 'Überflieger', 'Проект Север', 'Orchid'],
  partner: ['Partner Lab Ltd', 'Audit Firm LLP', 'Nordic Logistics AS', '上海工厂有限公司'],
  agent: ['agent-warehouse-01', 'agent-studio-02', 'agent-lab-03'],
  connection: ['Okta SAML', 'Entra ID OIDC', 'Google Workspace'],
  tag: ['confidential', 'pii', 'legal-hold', 'öffentlich', 'retention-10y'],
  form: ['Vendor onboarding', 'Data access request', 'Incident report', 'アンケート'],
  job: ['thumbnail-render', 'index-rebuild', 'quota-recalculation', 'expired-share-cleanup', 'malware-scan'],
  plan: ['Business', 'Enterprise'],
  notification: ['Weekly digest', 'Share received', 'Storage almost full', 'New sign-in', 'Approval needed'],
  setting: ['default-language', 'session-lifetime', 'allowed-domains', 'branding'],
  terms: ['Terms of service 2026-07', 'Privacy notice 2026-07', 'DPA v4'],
} as const;

export type ThingType = keyof typeof names;

export interface DemoThings {
  file(): DemoFile;
  /** A file that can be watched or listened to. */
  recording(): DemoFile;
  folder(): DemoThing;
  thing(type: ThingType): DemoThing;
}

const playable = /\.(mp4|mov|mp3)$/;

export function makeThing(id: string, name: string, type: string): DemoThing {
  return { id, name, type, json: JSON.stringify({ id, name, type }) };
}

function makeFile(draw: Draw, name: string): DemoFile {
  // Sizes spread over orders of magnitude, films being large.
  const exponent = playable.test(name) ? 7.5 + 2 * draw.next() : 2.5 + 5.5 * draw.next();
  const bytes = Math.floor(10 ** exponent);
  const facts = { fileName: name, fileSize: bytes, destination: `Drive/${draw.pick(folders)}` };
  return {
    ...makeThing(`file_${draw.hex(12)}`, name, 'file'),
    bytes,
    sha256: draw.hex(64),
    extraJson: JSON.stringify(facts).slice(1, -1),
  };
}

/** The files, folders, policies and so on of one organization; the same ones come up again and again. */
export function createThings(draw: Draw): DemoThings {
  const files = Array.from({ length: 40 }, (_, copy) =>
    fileNames.map((name) => {
      const dot = name.lastIndexOf('.');
      return makeFile(draw, copy === 0 ? name : `${name.slice(0, dot)} ${copy + 1}${name.slice(dot)}`);
    }),
  ).flat();
  const recordings = files.filter((file) => playable.test(file.name));
  const places = folders.map((name) => makeThing(`dir_${draw.hex(12)}`, name, 'folder'));
  const things = new Map<string, readonly DemoThing[]>(
    Object.entries(names).map(([type, list]) => [
      type,
      list.map((name) => makeThing(`${type.toLowerCase()}_${draw.hex(12)}`, name, type)),
    ]),
  );

  // Few files are asked for often, most seldom.
  function often(list: readonly DemoFile[]): DemoFile {
    return list[Math.floor(draw.next() ** 2 * list.length)] ?? draw.pick(list);
  }

  return {
    file: () => often(files),
    recording: () => often(recordings),
    folder: () => draw.pick(places),
    thing: (type) => draw.pick(things.get(type) ?? []),
  };
}
