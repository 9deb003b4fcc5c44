import type { Profile } from './profile.ts';

/**
 * A machine builder with three plants: drawings and papers, an early shift, a short Friday, almost no
 * weekend.
 */
export const globex: Profile = {
  slug: 'globex',
  name: 'Globex GmbH',
  hours: [0.2, 0.2, 0.2, 0.4, 2, 25, 75, 100, 100, 70, 98, 95, 50, 90, 85, 55, 25, 10, 5, 3, 2, 1, 0.5, 0.3],
  week: [0.01, 1, 1, 1, 0.95, 0.6, 0.06],
  network: '198.51.100.',
  sites: {
    Esslingen: `Ulrike Schäfer, u.schaefer, IT; Dieter Voß, d.voss, Revision;
      Heinz Bäuerle, h.baeuerle, Konstruktion; Ayşe Yıldırım, a.yildirim, Konstruktion;
      Tomasz Zieliński, t.zielinski, Vertrieb; Gerlinde Pfäffle, g.pfaeffle, Buchhaltung;
      Mehmet Çelik, m.celik, Fertigung; Sabine Großmann, s.grossmann, Personal;
      Ramona Häußler, r.haeussler, Einkauf; Jörg Krüger, j.krueger, Qualität;
      Franziska Lößl, f.loessl, Vertrieb; Walter Kühn, w.kuehn, Konstruktion`,
    Wrocław: `Grzegorz Brzęczyszczykiewicz, g.brzeczyszczykiewicz, Fertigung;
      Małgorzata Wiśniewska, m.wisniewska, Qualität; Paweł Dąbrowski, p.dabrowski, Fertigung;
      Agnieszka Kaczmarek, a.kaczmarek, Buchhaltung; Оксана Бондаренко, o.bondarenko, Einkauf;
      Krzysztof Żak, k.zak, IT`,
    Brno: `Jiří Dvořák, j.dvorak, Konstruktion; Kateřina Němcová, k.nemcova, Qualität;
      Ondřej Říha, o.riha, Fertigung; Zdeňka Šťastná, z.stastna, Personal;
      Ștefan Țăranu, s.taranu, Fertigung; Lukáš Černý, l.cerny, Vertrieb`,
    elsewhere: `Müller Einkauf, einkauf@mueller-soehne.example, guest; Selim Aksoy, s.aksoy@izmir-dokum.example,
      guest; Karin Huber, k.huber@wirtschaftspruefer.example, guest`,
  },
  utcOffsetHours: { Esslingen: 1, Wrocław: 1, Brno: 1 },
  folders: {
    'Konstruktion/Baugruppen': '{p} Baugruppe {n}.step; FEM-Bericht {p} {n}.pdf',
    'Konstruktion/Stücklisten': 'Stückliste {p}-{n}.xlsx; Lastenheft {p} v{v}.docx',
    'Fertigung/Rüstblätter': 'Rüstblatt {p} {n}.pdf; Schulung {p} Teil {v}.mp4',
    'Fertigung/Schichtpläne': 'Plan zmianowy tydzień {n}.xlsx; Výrobní výkaz 2026-{m}.xlsx',
    'Qualität/Prüfprotokolle': `Prüfprotokoll {p} {n}.pdf; Messdaten {p} {n}.csv; Protokół kontroli {n}.pdf;
      Zkušební zpráva {n}.pdf`,
    'Einkauf/Bestellungen': 'Bestellung 2026-{n}.pdf; Teklif {n} İzmir Döküm.pdf',
    'Vertrieb/Angebote': 'Angebot 2026-{n} Rev {v}.pdf; Kundenliste "{p}" {v}.csv',
    'Buchhaltung/Rechnungen': 'Rechnung 2026-00{n}.pdf; Faktura {n}-2026.pdf',
    'Personal/Gehälter': 'Gehaltsübersicht 2026-{m}.xlsx; Arbeitsvertrag {n}.docx',
    'IT/Betrieb': 'Sicherungsprotokoll {n}.txt; Inventar 2026-{m}.csv',
    'Revision/Aufsichtsrat': 'Aufsichtsrat 2026-{m} (vertraulich).docx',
  },
  roles: { IT: 'admin', Revision: 'auditor' },
  things: {
    policy: `Zeichnungen nur im Haus; Freigaben nach außen genehmigen; Verträge 10 Jahre aufbewahren;
      Personaldaten nur für Personal`,
    networkRule: 'werk-esslingen; zakład-wrocław; závod-brno; vpn; messrechner',
    storage: 'cad-primär; archiv; sicherung-brno',
    apiKey: 'ERP-Anbindung; CAD-Abgleich; Messrechner Halle 2',
    group: 'Konstrukteure; Schichtleitung; Freigeber; Zeitarbeit',
    tag: 'vertraulich; Exportkontrolle; freigegeben; Altstand',
    form: 'Änderungsantrag; Lieferantenselbstauskunft; Zgłoszenie awarii',
    job: 'Stücklisten-Abgleich; Vorschaubilder; Virenprüfung; Kontingente',
    notification: 'Neuer Kommentar; Freigabe erhalten; Speicher fast voll; Neue Anmeldung',
    setting: 'Sitzungsdauer; erlaubte Domänen; Sprache',
    terms: 'Nutzungsordnung 2026; Datenschutzhinweise 2026',
    newcomer: 'b.hofmann; e.nowak; m.prochazka; c.demir',
    project: 'Fräszentrum FZ 8; Spindel S2; Greifer G-400; Drehtisch DT',
  },
};
