import type { Profile } from './profile.ts';

/** Films and series: huge files, people all over the world who begin late and stay late, some at weekends. */
export const acme: Profile = {
  slug: 'acme',
  name: 'Acme Pictures',
  hours: [2, 1, 0.5, 0.3, 0.3, 0.5, 1, 4, 20, 60, 95, 100, 85, 80, 98, 100, 100, 90, 70, 40, 22, 14, 8, 4],
  week: [0.05, 0.9, 1, 1, 0.95, 0.8, 0.12],
  network: '203.0.113.',
  sites: {
    London: `Siobhán O’Connor, siobhan.oconnor, IT; Oliver Hughes, oliver.hughes, Compliance;
      Priya Shah, priya.shah, Distribution; Gwenllian Rhys, gwenllian.rhys, Localisation;
      Kwame Mensah, kwame.mensah, VFX; Chloé Lefèvre, chloe.lefevre, Legal;
      Íñigo Echeverría, inigo.echeverria, Editorial; Tom Baker, tom.baker, Sound`,
    Berlin: `Jürgen Weiß, juergen.weiss, Finance; Anna-Lena Köhler, anna-lena.koehler, Production;
      Müge Öztürk, muege.oeztuerk, Editorial; Łukasz Wójcik, lukasz.wojcik, VFX;
      Олена Шевченко, olena.shevchenko, Localisation; Zoë Brandt, zoe.brandt, Sound;
      Eszter Nagy, eszter.nagy, Distribution; Νίκος Παπαδόπουλος, nikos.papadopoulos, Localisation;
      Saskia van der Berg, saskia.vandenberg, Editorial`,
    'New York': `James Washington, james.washington, IT; Emily Chen, emily.chen, Compliance;
      Maria Garcia, maria.garcia, Production; Rachel Goldberg, rachel.goldberg, Legal;
      DeShawn Carter, deshawn.carter, Editorial; José Hernández, jose.hernandez, Sound;
      Aaliyah Robinson, aaliyah.robinson, Distribution; Nguyễn Thị Hương, huong.nguyen, VFX`,
    Dubai: `فاطمة الزهراء, fatima.alzahra, Distribution; محمد الأحمد, mohammed.alahmad, Production;
      Omar Haddad, omar.haddad, Legal; نورة بنت سالم, noura.salem, Localisation;
      Farhad Karimi, farhad.karimi, VFX; שירה לוי, shira.levi, Localisation`,
    Bengaluru: `Rajesh Iyer, rajesh.iyer, IT; अनन्या शर्मा, ananya.sharma, VFX;
      கவிதா சுந்தரம், kavitha.sundaram, Localisation; Arjun Reddy, arjun.reddy, VFX;
      Mohammed Faizal, mohammed.faizal, VFX; Sneha Kulkarni, sneha.kulkarni, Finance`,
    東京: `山田 太郎, taro.yamada, Production; 佐藤 美咲, misaki.sato, Editorial; 鈴木 健一, kenichi.suzuki, VFX;
      김민준, minjun.kim, Localisation; 이서연, seoyeon.lee, Distribution; 王小明, xiaoming.wang, VFX;
      陳怡君, yijun.chen, Localisation; 高橋 さくら, sakura.takahashi, Sound;
      สมชาย ใจดี, somchai.jaidee, Localisation`,
    Sydney: `Matilda Clarke, matilda.clarke, Production; Aroha Ngāti, aroha.ngati, VFX;
      Björn Sigurðsson, bjorn.sigurdsson, Sound`,
    elsewhere: `Dr. Elif Şahin, elif.sahin@colour-lab.example, guest;
      Иван Петров, i.petrov@dubbing.example, guest; Hannah Schmidt, h.schmidt@audit-firm.example, guest;
      Lerato Dlamini, lerato@cinemas.example, guest; 李娜, na.li@festival.example, guest`,
  },
  utcOffsetHours: { London: 0, Berlin: 1, 'New York': -5, Dubai: 4, Bengaluru: 5.5, 東京: 9, Sydney: 10 },
  folders: {
    'Editorial/Dailies': '{p} dailies day {n}.mp4; {p} cut notes day {n}.docx',
    'Editorial/Assemblies': '{p} reel {n} v{v}.edl; Schnittplan {p} v{v}.pdf',
    'VFX/Comps': '{p} sc{n} comp v{v}.exr; {p} shot list v{v}.xlsx',
    'VFX/Concepts': '{p} creature concept {n} 🐉.png',
    'VFX/共有': 'カット表 {p} v{v}.xlsx',
    'Sound/Mixes': '{p} reel {n} 5.1 mix v{v}.wav; {p} cue sheet v{v}.pdf',
    'Sound/Música': 'Música {p} cue {n}.mp3',
    'Localisation/Subtitles': `{p} {n} – ترجمة عربية.srt; {p} {n} – עברית.srt; {p} {n} – ภาษาไทย.srt;
      {p} {n} – 한국어 자막.srt; {p} {n} – हिन्दी.srt; {p} {n} – русские субтитры.srt; {p} {n} – ελληνικά.srt;
      {p} {n} – 日本語字幕.srt; {p} {n} – phụ đề tiếng Việt.srt`,
    'Production/Call sheets': '{p} call sheet day {n}.pdf; 撮影スケジュール {p} v{v}.xlsx',
    'Production/Scripts': '{p} shooting script rev {v}.fdx; Plano de filmagem – {p} v{v}.pdf',
    'Distribution/Screeners': '{p} screener {n}.mp4',
    'Distribution/Campaigns': `{p} launch plan 🚀 v{v}.pptx; {p} poster {n}.psd; Box office week {n}.xlsx;
      상영 계획 {p} v{v}.pptx`,
    'Legal/Contracts': 'Actor agreement {n} (signed).pdf; عقد توزيع {n}.pdf; Ação judicial nº {n}.docx',
    'Legal/Rights': `{p} chain of title v{v}.pdf; music licence "{p}" {n}.pdf;
      O'Brien option agreement v{v}.docx`,
    'Finance/2026': '{p} budget v{v}.xlsx; {p} cost report 2026-{m}.xlsx; invoice 2026-00{n}.pdf',
    'IT/Render farm': 'render farm usage 2026-{m}.csv; asset-db {n}.tar.gz',
    'Compliance/Board': 'board minutes 2026-{m} (confidential).docx',
  },
  roles: { IT: 'admin', Compliance: 'auditor' },
  things: {
    policy: `Screeners need a watermark; External sharing needs approval; No masters on unmanaged devices;
      Retain contracts 10 years; DLP: payroll data; EU data stays in the EU`,
    networkRule: 'office-london; office-東京; vpn-egress; colour-lab; deny-tor-exits; render-farm',
    storage: 'dailies-eu-west; archive-cold; masters-us-east; vfx-ap-south',
    apiKey: 'SIEM collector; Render farm uploads; Rights database sync; Screening room app',
    group: 'Post supervisors; VFX vendors; Auditors; Freelancers; Direção; 東京オフィス',
    tag: 'confidential; pre-release; legal-hold; watermarked; retention-10y',
    form: 'Vendor onboarding; Screener request; Incident report; ロケ申請',
    job: 'proxy-render; index-rebuild; quota-recalculation; expired-share-cleanup; malware-scan',
    notification: 'Comment added; Share received; Storage almost full; New sign-in; Approval needed',
    setting: 'default-language; session-lifetime; allowed-domains; branding',
    terms: 'Terms of service 2026-07; Privacy notice 2026-07; Crew NDA v4',
    newcomer: 'camille.moreau; noah.fischer; ines.duarte; haruto.mori; leah.cohen; sam.okafor',
    project: 'Northern Wake; Blue Heron; Überflieger; Проект Север; Orchid; 桜の庭',
  },
};
