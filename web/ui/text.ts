import { signal } from '@preact/signals';
import { stored } from './stored.ts';

/**
 * All words of the page, English and German; `{name}` stands for a value. A key begins with the view that it is for; what
 * several views say has none.
 */
const texts = {
  actor: ['Actor', 'Akteur'],
  activity: ['Activity', 'Aktivität'],
  address: ['Address', 'Adresse'],
  cancel: ['Cancel', 'Abbrechen'],
  close: ['Close', 'Schließen'],
  copied: ['Copied', 'Kopiert'],
  copy: ['Copy', 'Kopieren'],
  email: ['E-mail address', 'E-Mail-Adresse'],
  failure: ['Failure', 'Fehlschlag'],
  high: ['High', 'Hoch'],
  informational: ['Informational', 'Information'],
  language: ['Language', 'Sprache'],
  loading: ['Loading …', 'Wird geladen …'],
  local: ['local', 'lokal'],
  localTime: ['Local time', 'Ortszeit'],
  medium: ['Medium', 'Mittel'],
  organization: ['Organization', 'Organisation'],
  password: ['Password', 'Passwort'],
  product: ['Audit log', 'Audit-Log'],
  refresh: ['Refresh', 'Aktualisieren'],
  retryNow: ['Try now', 'Jetzt versuchen'],
  save: ['Save', 'Speichern'],
  severity: ['Severity', 'Schwere'],
  skipToContent: ['Skip to the content', 'Zum Inhalt springen'],
  status: ['Status', 'Status'],
  success: ['Success', 'Erfolg'],
  time: ['Time', 'Zeit'],
  utc: ['UTC', 'UTC'],
  views: ['Views', 'Ansichten'],

  roleAdmin: ['Administrator', 'Administrator'],
  roleAuditor: ['Auditor', 'Revisor'],
  roleMember: ['Member', 'Mitglied'],

  signIn: ['Sign in', 'Anmelden'],
  signInAgain: ['Sign in again', 'Erneut anmelden'],
  signInOver: [
    'Your session has ended. Sign in, and go on where you were.',
    'Ihre Sitzung ist beendet. Melden Sie sich an, um hier weiterzumachen.',
  ],
  signInWrong: ['E-mail address or password is not right.', 'E-Mail-Adresse oder Passwort stimmt nicht.'],
  signInWhich: [
    'If your address is known in several organizations, name yours.',
    'Gehört Ihre Adresse zu mehreren Organisationen, nennen Sie Ihre.',
  ],
  signInOrganizationHint: [
    'Its short name, such as acme. Only needed where your address is in several.',
    'Ihr Kurzname, etwa acme. Nur nötig, wenn Ihre Adresse zu mehreren gehört.',
  ],
  signInChooseOrganization: ['Choose an organization', 'Organisation wählen'],
  signInTooOften: [
    'Too many tries. The next one is possible in {seconds} s.',
    'Zu viele Versuche. Der nächste ist in {seconds} s möglich.',
  ],
  signInUnavailable: [
    'Signing in is not possible right now. Try again in a moment.',
    'Die Anmeldung ist gerade nicht möglich. Versuchen Sie es gleich noch einmal.',
  ],
  signInLead: ['What happened, by whom, and when.', 'Was geschah, durch wen und wann.'],
  signOut: ['Sign out', 'Abmelden'],

  accountPassword: ['Change password', 'Passwort ändern'],
  accountPasswordCurrent: ['Current password', 'Jetziges Passwort'],
  accountPasswordNew: ['New password', 'Neues Passwort'],
  accountPasswordRule: ['At least 12 characters.', 'Mindestens 12 Zeichen.'],
  accountPasswordWrong: ['The current password is not right.', 'Das jetzige Passwort stimmt nicht.'],
  accountPasswordDone: ['Your password has been changed.', 'Ihr Passwort ist geändert.'],
  accountMenu: ['Account and appearance', 'Konto und Darstellung'],
  accountTheme: ['Appearance', 'Darstellung'],
  accountThemeSystem: ['System', 'System'],
  accountThemeLight: ['Light', 'Hell'],
  accountThemeDark: ['Dark', 'Dunkel'],
  accountTimes: ['Times', 'Zeiten'],

  keys: ['Keyboard', 'Tastatur'],
  keysFilter: ['to the filter', 'zum Filter'],
  keysRows: ['through the rows', 'durch die Zeilen'],
  keysOpen: ['opens a row, takes a suggestion', 'öffnet eine Zeile, nimmt einen Vorschlag'],
  keysClose: ['closes what is open', 'schließt, was offen ist'],
  keysBars: ['from bar to bar of the chart', 'von Balken zu Balken im Diagramm'],
  keysZoom: ['chooses several bars, zooms in', 'wählt mehrere Balken, vergrößert'],
  keysHelp: ['shows this list', 'zeigt diese Liste'],

  frameLimit: [
    '{limit} requests in the window are used up: going on in {seconds} s.',
    '{limit} Anfragen im Zeitfenster sind verbraucht: weiter in {seconds} s.',
  ],
  frameOffline: ['No connection to the server.', 'Keine Verbindung zum Server.'],
  frameUnavailable: [
    'Records cannot be read right now. Nothing is lost: what is written meanwhile appears later.',
    'Einträge sind gerade nicht lesbar. Nichts geht verloren: Neues erscheint später.',
  ],
  frameRetryIn: ['Next try in {seconds} s.', 'Nächster Versuch in {seconds} s.'],
  frameRefused: ['That did not work: {detail}', 'Das ging nicht: {detail}'],
  frameNothing: [
    'There is nothing to see for your role in this organization.',
    'Für Ihre Rolle gibt es in dieser Organisation nichts zu sehen.',
  ],
  frameReference: ['Reference {id}', 'Kennung {id}'],

  events: ['Events', 'Ereignisse'],
  eventsTotalOne: ['{n} event', '{n} Ereignis'],
  eventsTotal: ['{n} events', '{n} Ereignisse'],
  eventsFilter: ['Filter: actor, file, flow, hash …', 'Filtern: Akteur, Datei, Ablauf, Hash …'],
  eventsFilterLabel: ['Filter events', 'Ereignisse filtern'],
  eventsRange: ['Range of time', 'Zeitraum'],
  eventsRange1h: ['Last hour', 'Letzte Stunde'],
  eventsRange24h: ['Last 24 hours', 'Letzte 24 Stunden'],
  eventsRange7d: ['Last 7 days', 'Letzte 7 Tage'],
  eventsRange30d: ['Last 30 days', 'Letzte 30 Tage'],
  eventsRange90d: ['Last 90 days', 'Letzte 90 Tage'],
  eventsRangeToday: ['Today', 'Heute'],
  eventsRangeYesterday: ['Yesterday', 'Gestern'],
  eventsRangeLastQuarter: ['Last quarter', 'Letztes Quartal'],
  eventsRangeAll: ['All time', 'Gesamte Zeit'],
  eventsRangeFrom: ['From', 'Von'],
  eventsRangeTo: ['To', 'Bis'],
  eventsRangeApply: ['Show', 'Anzeigen'],
  eventsRangeExact: ['Exact range', 'Genauer Zeitraum'],
  eventsFrom: ['from {time}', 'ab {time}'],
  eventsUntil: ['until {time}', 'bis {time}'],
  eventsChipActor: ['actor is', 'Akteur ist'],
  eventsChipUserId: ['user id is', 'Nutzerkennung ist'],
  eventsChipFileName: ['file is', 'Datei ist'],
  eventsChipFileHash: ['hash is', 'Hash ist'],
  eventsChipFlowId: ['flow is', 'Ablauf ist'],
  eventsChipActivityId: ['activity is', 'Aktivität ist'],
  eventsChipSeverity: ['severity is', 'Schwere ist'],
  eventsChipStatus: ['status is', 'Status ist'],
  eventsChipRemove: ['Remove the filter: {filter}', 'Filter entfernen: {filter}'],
  eventsClear: ['Clear all', 'Alle entfernen'],
  eventsMessage: ['Message', 'Meldung'],
  eventsTarget: ['Target', 'Ziel'],
  eventsUserId: ['User id', 'Nutzerkennung'],
  eventsHash: ['Hash', 'Hash'],
  eventsAddress: ['Address', 'Adresse'],
  eventsTable: ['Events, newest first', 'Ereignisse, neueste zuerst'],
  eventsNone: ['No events match.', 'Keine Ereignisse passen.'],
  eventsNoneYet: [
    'There are no events in this range of time.',
    'In diesem Zeitraum gibt es keine Ereignisse.',
  ],
  eventsNoneRemove: ['Remove “{filter}”', '„{filter}“ entfernen'],
  eventsNoneWiden: ['Look at all time', 'Gesamte Zeit ansehen'],
  eventsNew: ['{n} new events: show', '{n} neue Ereignisse: anzeigen'],
  eventsNewOne: ['{n} new event: show', '{n} neues Ereignis: anzeigen'],
  eventsJump: ['Jump to a moment', 'Zu einem Zeitpunkt springen'],
  eventsJumpNewest: ['Newest', 'Neueste'],
  eventsJumpOldest: ['Oldest', 'Älteste'],
  eventsFacets: ['Frequent values', 'Häufige Werte'],
  eventsFacetsMore: ['{n} more', '{n} weitere'],
  eventsChart: [
    '{total} events over time, {failed} of them failed; a bar is {width}. Arrow keys choose a bar, with Shift several, Enter zooms in.',
    '{total} Ereignisse im Zeitverlauf, davon {failed} fehlgeschlagen; ein Balken ist {width}. Pfeiltasten wählen einen Balken, mit Umschalt mehrere, Enter vergrößert.',
  ],
  eventsChartBar: ['{time}: {n} events, {failed} failed', '{time}: {n} Ereignisse, {failed} fehlgeschlagen'],
  eventsDetail: ['Event', 'Ereignis'],
  eventsDetailSummary: ['Summary', 'Übersicht'],
  eventsDetailJson: ['JSON', 'JSON'],
  eventsDetailSource: ['Source event', 'Quellereignis'],
  eventsDetailFlow: ['Flow', 'Ablauf'],
  eventsDetailFlowSteps: ['{n} events in {duration}', '{n} Ereignisse in {duration}'],
  eventsDetailType: ['Type', 'Art'],
  eventsDetailContext: ['Context', 'Kontext'],
  eventsDetailGone: [
    'This event is not there any more: its retention may be over.',
    'Dieses Ereignis gibt es nicht mehr: Vielleicht ist seine Aufbewahrung abgelaufen.',
  ],
  eventsDetailLink: ['Copy link', 'Link kopieren'],
  eventsDetailPrevious: ['Newer event', 'Neueres Ereignis'],
  eventsDetailNext: ['Older event', 'Älteres Ereignis'],
  eventsExport: ['Export', 'Exportieren'],
  eventsExportTitle: ['Export events', 'Ereignisse exportieren'],
  eventsExportWhat: [
    'All that the view shows, newest first. The export itself is recorded in the log.',
    'Alles, was die Ansicht zeigt, Neuestes zuerst. Der Export selbst wird im Log vermerkt.',
  ],
  eventsExportFormat: ['Format', 'Format'],
  eventsExportNdjson: [
    'An event a line, with all its members: for programs.',
    'Ein Ereignis je Zeile, mit allen Feldern: für Programme.',
  ],
  eventsExportJson: ['One array of all events.', 'Eine Liste aller Ereignisse.'],
  eventsExportCsv: [
    'A table for spreadsheets, with the columns people ask for.',
    'Eine Tabelle mit den gefragten Spalten.',
  ],
  eventsExportByBrowser: [
    'Your browser downloads the file and shows how far it is. A download that breaks off is marked as failed; a whole one has all {events}.',
    'Ihr Browser lädt die Datei und zeigt den Stand. Bricht es ab, gilt der Download als fehlgeschlagen; vollständig sind es {events}.',
  ],
  eventsExportBegins: ['Beginning …', 'Beginnt …'],
  eventsExportProgress: ['{n} of {total} events, {size}', '{n} von {total} Ereignissen, {size}'],
  eventsExportDone: ['{events} in {name}, {size}.', '{events} in {name}, {size}.'],
  eventsExportWhole: ['The file is whole.', 'Die Datei ist vollständig.'],
  eventsExportBroken: [
    'The export broke off after {n} of {total} events. No file has been kept.',
    'Der Export brach nach {n} von {total} Ereignissen ab. Es wurde keine Datei behalten.',
  ],
  eventsExportUnwritten: [
    'The file could not be written. Nothing of it has been kept.',
    'Die Datei ließ sich nicht schreiben. Nichts davon wurde behalten.',
  ],
  eventsFilterBy: ['Filter by {value}', 'Nach {value} filtern'],

  overview: ['Overview', 'Überblick'],
  overviewUntil: ['{day}, until {time} ({zone})', '{day}, bis {time} ({zone})'],
  overviewToday: ['Events today', 'Ereignisse heute'],
  overviewFailures: ['Failures today', 'Fehlschläge heute'],
  overviewImportant: ['High severity today', 'Hohe Schwere heute'],
  overviewNew: ['New actors today', 'Neue Akteure heute'],
  overviewUsual: ['usually {n} by now', 'üblich sind bis jetzt {n}'],
  overviewUsualNone: ['usually none by now', 'üblich ist bis jetzt keines'],
  overviewUsualUnknown: ['no day to compare with yet', 'noch kein Tag zum Vergleichen'],
  overviewUsualOf: [
    'The usual day is the median of {n} days like this one (working days or weekends) in the 13 days before.',
    'Üblich ist der Median aus {n} Tagen wie diesem (Werktage oder Wochenenden) in den 13 Tagen davor.',
  ],
  overviewShare: ['{share} of today’s events', '{share} der heutigen Ereignisse'],
  overviewNewHint: ['no event in the 13 days before', 'kein Ereignis in den 13 Tagen davor'],
  overviewNewPart: [
    'no event in the 13 days before, among the {n} most active who may be new',
    'kein Ereignis in den 13 Tagen davor, unter den {n} aktivsten, die neu sein können',
  ],
  overviewHeat: ['Busiest hours', 'Belebteste Stunden'],
  overviewHeatHint: [
    'Two weeks, an hour a field; each leads to its events.',
    'Zwei Wochen, eine Stunde je Feld; jedes führt zu seinen Ereignissen.',
  ],
  overviewHeatLabel: [
    'Busiest hours. Arrow keys go from hour to hour, Enter shows its events.',
    'Belebteste Stunden. Pfeiltasten gehen von Stunde zu Stunde, Enter zeigt die Ereignisse.',
  ],
  overviewHour: ['{time}: {n} events, {failed} failed', '{time}: {n} Ereignisse, {failed} fehlgeschlagen'],
  overviewFew: ['none', 'keine'],
  overviewMany: ['{n} an hour', '{n} je Stunde'],
  overviewFarOut: ['{n} or more', '{n} oder mehr'],
  overviewActive: ['Most active today', 'Heute am aktivsten'],
  overviewFailing: ['What failed today', 'Was heute fehlschlug'],
  overviewNothing: ['Nothing today.', 'Heute nichts.'],

  receipts: ['Receipts', 'Belege'],
  receiptsLead: [
    'Your own uploads, downloads and streams, newest first.',
    'Ihre eigenen Uploads, Downloads und Streams, neueste zuerst.',
  ],
  receiptsTotalOne: ['{n} transfer', '{n} Übertragung'],
  receiptsTotal: ['{n} transfers', '{n} Übertragungen'],
  receiptsFile: ['File', 'Datei'],
  receiptsDestination: ['Destination', 'Ziel'],
  receiptsSize: ['Size', 'Größe'],
  receiptsBytes: ['{n} bytes', '{n} Bytes'],
  receiptsStarted: ['Started', 'Begonnen'],
  receiptsCompleted: ['Completed', 'Beendet'],
  receiptsDuration: ['Duration', 'Dauer'],
  receiptsUpload: ['Upload', 'Upload'],
  receiptsDownload: ['Download', 'Download'],
  receiptsStream: ['Stream', 'Stream'],
  receiptsStateStarted: ['Started', 'Begonnen'],
  receiptsStateCompleted: ['Completed', 'Fertig'],
  receiptsStateFailed: ['Failed', 'Fehlgeschlagen'],
  receiptsEvents: ['Events of this transfer', 'Ereignisse dieser Übertragung'],
  receiptsNone: ['No transfers yet.', 'Noch keine Übertragungen.'],
  receiptsNoneLead: [
    'What you upload, download or stream appears here, with when it was done and where it went.',
    'Was Sie hoch- oder herunterladen oder streamen, erscheint hier: wann es fertig war und wohin es ging.',
  ],
  receiptsOff: [
    'Receipts are switched off in this organization.',
    'Belege sind in dieser Organisation abgeschaltet.',
  ],
  receiptsOffLead: [
    'Your transfers are recorded all the same. An administrator can switch receipts on.',
    'Ihre Übertragungen werden trotzdem aufgezeichnet. Die Administration kann Belege einschalten.',
  ],
  receiptsPages: ['Pages', 'Seiten'],
  receiptsPage: ['{first}–{last} of {total}', '{first}–{last} von {total}'],
  receiptsNewer: ['Newer', 'Neuere'],
  receiptsOlder: ['Older', 'Ältere'],
  receiptsBeyond: ['There is nothing on this page.', 'Auf dieser Seite ist nichts.'],
  receiptsFirst: ['To the newest', 'Zu den neuesten'],
} as const satisfies Readonly<Record<string, readonly [english: string, german: string]>>;

export type TextKey = keyof typeof texts;

const browserLanguage = navigator.language.toLowerCase().startsWith('de') ? 'de' : 'en';

export const language = stored('auditlog.language', browserLanguage === 'de' ? ['de', 'en'] : ['en', 'de']);

language.subscribe((value) => {
  document.documentElement.lang = value;
});

/** The words of a key in the language chosen. */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  const text = texts[key][language.value === 'de' ? 1 : 0];
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}

/** What a screen reader says next, politely. */
export const announcement = signal('');
