import type { Draw } from './draw.ts';

/** Someone of a demo organization. */
export interface DemoUser {
  readonly name: string;
  readonly email: string;
  readonly role: 'admin' | 'auditor' | 'member';
  /** Where they work; decides their hours and days. */
  readonly site: SiteName;
}

type SiteName = 'Berlin' | 'London' | 'New York' | 'São Paulo' | 'Dubai' | 'Bengaluru' | '東京' | 'Sydney';

interface Site {
  readonly utcOffsetHours: number;
  /** Days off, Sunday being 0. */
  readonly weekend: readonly number[];
  readonly region: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

/** Addresses of the ranges set aside for documentation, so that no demo points at anyone. */
const sites: Readonly<Record<SiteName, Site>> = {
  Berlin: {
    utcOffsetHours: 1,
    weekend: [0, 6],
    region: 'eu-central',
    ipv4: '203.0.113.',
    ipv6: '2001:db8:10:',
  },
  London: {
    utcOffsetHours: 0,
    weekend: [0, 6],
    region: 'eu-west',
    ipv4: '198.51.100.',
    ipv6: '2001:db8:20:',
  },
  'New York': {
    utcOffsetHours: -5,
    weekend: [0, 6],
    region: 'us-east',
    ipv4: '192.0.2.',
    ipv6: '2001:db8:30:',
  },
  'São Paulo': {
    utcOffsetHours: -3,
    weekend: [0, 6],
    region: 'sa-east',
    ipv4: '198.51.100.',
    ipv6: '2001:db8:40:',
  },
  Dubai: {
    utcOffsetHours: 4,
    weekend: [0, 6],
    region: 'me-central',
    ipv4: '203.0.113.',
    ipv6: '2001:db8:50:',
  },
  Bengaluru: {
    utcOffsetHours: 5.5,
    weekend: [0, 6],
    region: 'ap-south',
    ipv4: '192.0.2.',
    ipv6: '2001:db8:60:',
  },
  東京: {
    utcOffsetHours: 9,
    weekend: [0, 6],
    region: 'ap-northeast',
    ipv4: '203.0.113.',
    ipv6: '2001:db8:70:',
  },
  Sydney: {
    utcOffsetHours: 10,
    weekend: [0, 6],
    region: 'ap-southeast',
    ipv4: '198.51.100.',
    ipv6: '2001:db8:80:',
  },
};

/** Names as people write them, and the part of their address before the @. */
const roster: Readonly<Record<SiteName, readonly (readonly [string, string])[]>> = {
  Berlin: [
    ['Jürgen Weiß', 'juergen.weiss'],
    ['Anna-Lena Köhler', 'anna-lena.koehler'],
    ['Müge Öztürk', 'muege.oeztuerk'],
    ['Łukasz Wójcik', 'lukasz.wojcik'],
    ['Олена Шевченко', 'olena.shevchenko'],
    ['Zoë Brandt', 'zoe.brandt'],
    ['Matthias Groß', 'matthias.gross'],
    ['Eszter Nagy', 'eszter.nagy'],
    ['Νίκος Παπαδόπουλος', 'nikos.papadopoulos'],
    ['Saskia van der Berg', 'saskia.vandenberg'],
  ],
  London: [
    ['Siobhán O’Connor', 'siobhan.oconnor'],
    ['Oliver Hughes', 'oliver.hughes'],
    ['Priya Shah', 'priya.shah'],
    ['Gwenllian Rhys', 'gwenllian.rhys'],
    ['Kwame Mensah', 'kwame.mensah'],
    ['Chloé Lefèvre', 'chloe.lefevre'],
    ['Íñigo Echeverría', 'inigo.echeverria'],
    ['Tom Baker', 'tom.baker'],
  ],
  'New York': [
    ['Maria Garcia', 'maria.garcia'],
    ['James Washington', 'james.washington'],
    ['Rachel Goldberg', 'rachel.goldberg'],
    ['DeShawn Carter', 'deshawn.carter'],
    ['José Hernández', 'jose.hernandez'],
    ['Emily Chen', 'emily.chen'],
    ['Patrick O’Brien', 'patrick.obrien'],
    ['Aaliyah Robinson', 'aaliyah.robinson'],
    ['Nguyễn Thị Hương', 'huong.nguyen'],
    ['Michael Kowalski', 'michael.kowalski'],
  ],
  'São Paulo': [
    ['João Gonçalves', 'joao.goncalves'],
    ['Beatriz Araújo', 'beatriz.araujo'],
    ['Thiago Nuñez', 'thiago.nunez'],
    ['Luíza Magalhães', 'luiza.magalhaes'],
    ['André Conceição', 'andre.conceicao'],
  ],
  Dubai: [
    ['فاطمة الزهراء', 'fatima.alzahra'],
    ['محمد الأحمد', 'mohammed.alahmad'],
    ['Omar Haddad', 'omar.haddad'],
    ['نورة بنت سالم', 'noura.salem'],
    ['Farhad Karimi', 'farhad.karimi'],
    ['שירה לוי', 'shira.levi'],
  ],
  Bengaluru: [
    ['अनन्या शर्मा', 'ananya.sharma'],
    ['Rajesh Iyer', 'rajesh.iyer'],
    ['கவிதா சுந்தரம்', 'kavitha.sundaram'],
    ['Arjun Reddy', 'arjun.reddy'],
    ['Deepika Menon', 'deepika.menon'],
    ['Mohammed Faizal', 'mohammed.faizal'],
    ['Sneha Kulkarni', 'sneha.kulkarni'],
  ],
  東京: [
    ['山田 太郎', 'taro.yamada'],
    ['佐藤 美咲', 'misaki.sato'],
    ['鈴木 健一', 'kenichi.suzuki'],
    ['김민준', 'minjun.kim'],
    ['이서연', 'seoyeon.lee'],
    ['王小明', 'xiaoming.wang'],
    ['陳怡君', 'yijun.chen'],
    ['高橋 さくら', 'sakura.takahashi'],
    ['สมชาย ใจดี', 'somchai.jaidee'],
  ],
  Sydney: [
    ['Matilda Clarke', 'matilda.clarke'],
    ['Lachlan Nguyen', 'lachlan.nguyen'],
    ['Aroha Ngāti', 'aroha.ngati'],
    ['Björn Sigurðsson', 'bjorn.sigurdsson'],
    ['Grace Taufa', 'grace.taufa'],
  ],
};

/** The sixty people of a demo organization: three administrators, two auditors, members. */
export function demoStaff(domain: string): DemoUser[] {
  const staff = Object.entries(roster).flatMap(([site, people]) =>
    people.map(([name, local]) => ({ name, email: `${local}@${domain}`, site: site as SiteName })),
  );
  return staff.map((person, index) => ({
    ...person,
    role: index % 20 === 3 ? 'admin' : index % 30 === 11 ? 'auditor' : 'member',
  }));
}

/** Someone who does things, with what follows them around. */
export interface DemoActor {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly type: 'User' | 'App/System' | 'External user';
  readonly role: string;
  readonly site: Site;
  readonly city: SiteName;
  readonly ips: readonly string[];
  /** Some people do ten times what others do. */
  readonly diligence: number;
  /** JSON text of `message.actor`, made once: it is in every event of theirs. */
  readonly json: string;
  /** JSON members of `message.extra` that are always the same for them, without braces. */
  readonly extraJson: string;
}

const departments = [
  'Finance',
  'Legal',
  'Research',
  'Sales',
  'People',
  'Engineering',
  'Marketing',
  'Operations',
];
const clients = [
  'Chrome 131 / Windows',
  'Safari 18.1 / macOS',
  'Firefox 132 / Linux',
  'Desktop 4.12.1',
  'iOS 7.3.0',
];
/** Programs, and the hundreds of activity codes that are theirs. */
const services: readonly (readonly [name: string, local: string, hundreds: readonly number[]])[] = [
  ['SCIM Bridge', 'svc-scim', [12]],
  ['CI Runner', 'svc-ci', [13]],
  ['Nightly Backup', 'svc-backup', [21]],
  ['Billing', 'svc-billing', [30]],
  ['Scheduler', 'svc-scheduler', [40]],
  ['Notifier', 'svc-notifier', [50]],
  ['Policy Engine', 'svc-policy', [60, 64]],
  ['Agent Registry', 'svc-agents', [66]],
];
const guests: readonly (readonly [string, string])[] = [
  ['Dr. Elif Şahin', 'elif.sahin@partner-lab.example'],
  ['Иван Петров', 'i.petrov@logistics.example'],
  ['Hannah Schmidt', 'h.schmidt@audit-firm.example'],
  ['Lerato Dlamini', 'lerato@supplier.example'],
  ['李娜', 'na.li@factory.example'],
];

function addresses(draw: Draw, site: Site): string[] {
  const v6 = `${site.ipv6}${draw.hex(3)}::${draw.hex(4)}`;
  const office = `${site.ipv4}${draw.integer(1, 12)}`;
  return [office, office, `${site.ipv4}${draw.integer(13, 254)}`, v6];
}

function describe(draw: Draw, user: DemoUser, type: DemoActor['type'], role: string): DemoActor {
  const site = sites[user.site];
  const id = draw.uuid();
  const facts = {
    department: type === 'User' ? draw.pick(departments) : undefined,
    region: site.region,
    client:
      type === 'App/System' ? `${user.email.split('@')[0]}/2.${draw.integer(0, 9)}` : draw.pick(clients),
  };
  return {
    id,
    name: user.name,
    email: user.email,
    type,
    role,
    site,
    city: user.site,
    ips: type === 'App/System' ? [`${site.ipv4}${draw.integer(200, 254)}`] : addresses(draw, site),
    diligence: 0.3 + 2.7 * draw.next() ** 3,
    json: JSON.stringify({ id, name: user.name, email: user.email, type }),
    extraJson: JSON.stringify(facts).slice(1, -1),
  };
}

export function actorOf(draw: Draw, user: DemoUser): DemoActor {
  return describe(draw, user, 'User', user.role);
}

/** Programs that work round the clock, by the hundreds of the codes that are theirs. */
export function serviceActors(draw: Draw, domain: string): ReadonlyMap<number, DemoActor> {
  const byHundreds = new Map<number, DemoActor>();
  for (const [name, local, hundreds] of services) {
    const user = { name, email: `${local}@${domain}`, role: 'member', site: 'Berlin' } as const;
    const actor = describe(draw, user, 'App/System', 'service');
    for (const hundred of hundreds) byHundreds.set(hundred, actor);
  }
  return byHundreds;
}

/** People of other companies who were given something. */
export function guestActors(draw: Draw): DemoActor[] {
  return guests.map(([name, email]) =>
    describe(draw, { name, email, role: 'member', site: 'London' }, 'External user', 'guest'),
  );
}
