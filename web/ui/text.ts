import { signal } from '@preact/signals';
import { stored } from './stored.ts';

/**
 * All words of the page, English and German; `{name}` stands for a value. A key begins with the view that it is for; what
 * several views say has none.
 */
const texts = {
  actions: ['Actions', 'Aktionen'],
  actor: ['Actor', 'Akteur'],
  activity: ['Activity', 'Aktivität'],
  address: ['Address', 'Adresse'],
  cancel: ['Cancel', 'Abbrechen'],
  close: ['Close', 'Schließen'],
  copied: ['Copied', 'Kopiert'],
  copy: ['Copy', 'Kopieren'],
  created: ['Created', 'Erstellt'],
  done: ['Done', 'Fertig'],
  email: ['E-mail address', 'E-Mail-Adresse'],
  failure: ['Failure', 'Fehlschlag'],
  high: ['High', 'Hoch'],
  informational: ['Informational', 'Information'],
  language: ['Language', 'Sprache'],
  loading: ['Loading …', 'Wird geladen …'],
  local: ['local', 'lokal'],
  localTime: ['Local time', 'Ortszeit'],
  medium: ['Medium', 'Mittel'],
  name: ['Name', 'Name'],
  organization: ['Organization', 'Organisation'],
  password: ['Password', 'Passwort'],
  product: ['Audit log', 'Audit-Log'],
  retryNow: ['Try now', 'Jetzt versuchen'],
  save: ['Save', 'Speichern'],
  saved: ['Saved', 'Gespeichert'],
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
  roleAdminMay: [
    'Everything in the organization, keys and users included.',
    'Alles in der Organisation, auch Schlüssel und Nutzer.',
  ],
  roleAuditorMay: ['Reads and exports all events.', 'Liest und exportiert alle Ereignisse.'],
  roleMemberMay: [
    'Sees receipts of their own transfers, and nothing else.',
    'Sieht Belege der eigenen Übertragungen, sonst nichts.',
  ],

  listActions: ['Actions for {name}', 'Aktionen für {name}'],
  listMore: ['Show {n} more of {rest}', '{n} weitere von {rest} anzeigen'],

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
  eventsFilterBy: ['Filter by {value}', 'Nach {value} filtern'],

  apiKeys: ['API keys', 'API-Schlüssel'],
  apiKeysLead: [
    'Programs read and record events with these. A key is shown once; what is stored cannot be turned back into it.',
    'Damit lesen und schreiben Programme Ereignisse. Ein Schlüssel wird einmal gezeigt; aus dem Gespeicherten lässt er sich nicht zurückgewinnen.',
  ],
  apiKeysNew: ['New key', 'Neuer Schlüssel'],
  apiKeysMake: ['Create key', 'Schlüssel erstellen'],
  apiKeysShow: ['Which keys', 'Welche Schlüssel'],
  apiKeysUsed: ['Active', 'Aktiv'],
  apiKeysEnded: ['Ended', 'Beendet'],
  apiKeysNone: [
    'No key is active. Create one for the first program that records or reads events.',
    'Kein Schlüssel ist aktiv. Erstellen Sie einen für das erste Programm, das Ereignisse schreibt oder liest.',
  ],
  apiKeysNoneEnded: [
    'No key has been revoked or has expired.',
    'Kein Schlüssel ist widerrufen oder abgelaufen.',
  ],
  apiKeysNameHint: [
    'What uses it, such as “SIEM” or “File server”.',
    'Wofür er ist, etwa „SIEM“ oder „Dateiserver“.',
  ],
  apiKeysScopes: ['Allowed', 'Erlaubt'],
  apiKeysReads: ['Read', 'Lesen'],
  apiKeysWrites: ['Write', 'Schreiben'],
  apiKeysReadsMay: ['All events of the organization.', 'Alle Ereignisse der Organisation.'],
  apiKeysWritesMay: ['Records events, and reads none.', 'Schreibt Ereignisse und liest keine.'],
  apiKeysEnds: ['Expires', 'Läuft ab'],
  apiKeysIn: ['in {n} days', 'in {n} Tagen'],
  apiKeysNever: ['never', 'nie'],
  apiKeysSoon: ['soon', 'bald'],
  apiKeysLimit: ['Limit', 'Grenze'],
  apiKeysLimitDefault: ['default', 'Vorgabe'],
  apiKeysRequests: ['Requests in 15 s, at most', 'Anfragen in 15 s, höchstens'],
  apiKeysRequestsHint: [
    'Empty for the limit of the service, which no key may exceed.',
    'Leer für die Grenze des Dienstes, die kein Schlüssel überschreiten darf.',
  ],
  apiKeysRevoked: ['revoked', 'widerrufen'],
  apiKeysExpired: ['expired', 'abgelaufen'],
  apiKeysKey: ['Key', 'Schlüssel'],
  apiKeysOnce: [
    'Copy it now, into a vault for secrets: nobody can show it again.',
    'Kopieren Sie ihn jetzt in einen Tresor für Geheimnisse: Niemand kann ihn noch einmal zeigen.',
  ],
  apiKeysCurlRead: ['Read the newest events', 'Die neuesten Ereignisse lesen'],
  apiKeysCurlWrite: ['Record an event', 'Ein Ereignis schreiben'],
  apiKeysStored: ['I have stored it', 'Ich habe ihn gespeichert'],
  apiKeysRotate: ['Rotate', 'Erneuern'],
  apiKeysRotateTitle: ['Rotate “{name}”', '„{name}“ erneuern'],
  apiKeysRotateLead: [
    'The key gets a new secret, shown once. What it may do, its limit and when it expires stay.',
    'Der Schlüssel bekommt ein neues Geheimnis, das einmal gezeigt wird. Rechte, Grenze und Ablauf bleiben.',
  ],
  apiKeysGrace: ['The secret of today works', 'Das jetzige Geheimnis gilt'],
  apiKeysGraceNone: ['not any more', 'nicht mehr'],
  apiKeysGraceHour: ['for another hour', 'noch eine Stunde'],
  apiKeysGraceHours: ['for another {n} hours', 'noch {n} Stunden'],
  apiKeysGraceDays: ['for another {n} days', 'noch {n} Tage'],
  apiKeysGraceHint: [
    'Time to bring the new one to the program.',
    'Zeit, um das neue in das Programm zu bringen.',
  ],
  apiKeysGraceUntil: ['Former secret until', 'Früheres Geheimnis bis'],
  apiKeysRevoke: ['Revoke', 'Widerrufen'],
  apiKeysRevokeTitle: ['Revoke “{name}”', '„{name}“ widerrufen'],
  apiKeysRevokeLead: [
    'Programs that use it are refused within two seconds. This cannot be undone.',
    'Programme, die ihn benutzen, werden binnen zwei Sekunden abgewiesen. Das lässt sich nicht rückgängig machen.',
  ],
  apiKeysRevokeType: ['Type {name} to confirm', 'Zur Bestätigung {name} eingeben'],
  apiKeysRevokedNow: ['{name} has been revoked.', '{name} ist widerrufen.'],

  users: ['Users', 'Nutzer'],
  usersLead: [
    'People who sign in here. Changes hold at once, and are recorded in the events.',
    'Menschen, die sich hier anmelden. Änderungen gelten sofort und stehen in den Ereignissen.',
  ],
  usersNew: ['New user', 'Neuer Nutzer'],
  usersMake: ['Create user', 'Nutzer erstellen'],
  usersFind: ['Find by name or address', 'Nach Name oder Adresse suchen'],
  usersNone: ['Nobody matches.', 'Niemand passt.'],
  usersRole: ['Role', 'Rolle'],
  usersYou: ['you', 'Sie'],
  usersDisabled: ['disabled', 'gesperrt'],
  usersTaken: [
    'There is a user with this address already.',
    'Es gibt schon einen Nutzer mit dieser Adresse.',
  ],
  usersChangeRole: ['Change role', 'Rolle ändern'],
  usersRoleTitle: ['Role of {name}', 'Rolle von {name}'],
  usersDisable: ['Disable', 'Sperren'],
  usersDisableTitle: ['Disable {name}', '{name} sperren'],
  usersDisableLead: [
    'All sessions end at once, and signing in is refused from now on. What was recorded stays.',
    'Alle Sitzungen enden sofort, und die Anmeldung wird abgewiesen. Was aufgezeichnet ist, bleibt.',
  ],
  usersDisabledNow: ['{name} has been disabled.', '{name} ist gesperrt.'],
  usersLink: ['Reset password', 'Passwort zurücksetzen'],
  usersLinkTitle: ['Password of {name}', 'Passwort von {name}'],
  usersLinkLead: [
    'A link lets this person choose a new password, once. Until it is used the password of today goes on; then all sessions end.',
    'Mit einem Link wählt diese Person einmal ein neues Passwort. Bis er benutzt wird, gilt das jetzige; dann enden alle Sitzungen.',
  ],
  usersMadeTitle: ['{name} has been created', '{name} ist erstellt'],
  usersMadeLead: [
    'There is no password yet. A link lets this person choose one; you can also make it later.',
    'Es gibt noch kein Passwort. Mit einem Link wählt diese Person eines; Sie können ihn auch später erstellen.',
  ],
  usersLinkMake: ['Create link', 'Link erstellen'],
  usersLinkLabel: ['Link, good once', 'Link, einmal gültig'],
  usersLinkShown: [
    'Send it to {email} by a channel that nobody else reads. It is good until',
    'Senden Sie ihn an {email}, auf einem Weg, den sonst niemand liest. Er gilt bis',
  ],

  passwordTitle: ['Choose a password', 'Passwort wählen'],
  passwordLead: [
    'With the link of your administrator, which is good once.',
    'Mit dem Link Ihrer Administration, der einmal gilt.',
  ],
  passwordDone: [
    'Your password is set. Sign in with it.',
    'Ihr Passwort ist gesetzt. Melden Sie sich damit an.',
  ],
  passwordGone: [
    'This link is not good any more. Ask your administrator for another one.',
    'Dieser Link gilt nicht mehr. Bitten Sie Ihre Administration um einen neuen.',
  ],

  settings: ['Settings', 'Einstellungen'],
  settingsLead: [
    'What holds for everybody in the organization. Changes are recorded in the events.',
    'Was für alle in der Organisation gilt. Änderungen stehen in den Ereignissen.',
  ],
  settingsOrganizationLead: [
    'The name is for people. Programs know the organization by its short name or id, which never change.',
    'Der Name ist für Menschen. Programme kennen die Organisation am Kurznamen oder an der Kennung, die sich nie ändern.',
  ],
  settingsSlug: ['Short name', 'Kurzname'],
  settingsId: ['Id', 'Kennung'],
  settingsReceipts: ['Receipts', 'Belege'],
  settingsReceiptsLead: [
    'Whether people see what became of the files that they sent and fetched.',
    'Ob Menschen sehen, was aus den Dateien wurde, die sie gesendet und geholt haben.',
  ],
  settingsReceiptsWho: ['Who sees receipts', 'Wer Belege sieht'],
  settingsReceiptsOwn: ['Everyone sees their own transfers', 'Alle sehen die eigenen Übertragungen'],
  settingsReceiptsOwnMeans: [
    'Uploads, downloads and streams, with size, destination and outcome.',
    'Uploads, Downloads und Streams, mit Größe, Ziel und Ergebnis.',
  ],
  settingsReceiptsOff: ['Nobody sees receipts', 'Niemand sieht Belege'],
  settingsReceiptsOffMeans: [
    'Members then have nothing to see here. Events stay as they are.',
    'Mitglieder sehen hier dann nichts. Die Ereignisse bleiben, wie sie sind.',
  ],
  settingsRetention: ['Retention', 'Aufbewahrung'],
  settingsRetentionLead: ['How long events are kept.', 'Wie lange Ereignisse aufbewahrt werden.'],
  settingsRetentionDays: ['{n} days', '{n} Tage'],
  settingsRetentionForever: ['No end', 'Ohne Ende'],
  settingsRetentionDefault: ['default of the service', 'Vorgabe des Dienstes'],
  settingsRetentionOwn: ['of this organization', 'dieser Organisation'],
  settingsRetentionMeans: [
    'An event is deleted for good {n} days after it happened, and one that arrives later than that is refused. Export what must be kept longer.',
    'Ein Ereignis wird {n} Tage, nachdem es geschah, endgültig gelöscht; kommt es noch später an, wird es abgewiesen. Exportieren Sie, was länger bleiben muss.',
  ],
  settingsRetentionForeverMeans: [
    'Nothing is deleted by age. Events stay for as long as the organization does.',
    'Nichts wird wegen seines Alters gelöscht. Ereignisse bleiben, solange es die Organisation gibt.',
  ],
  settingsRetentionHow: [
    'It is not changed here, since a shorter one deletes events: administrators do it by the API, operators by the command line.',
    'Sie wird nicht hier geändert, weil eine kürzere Ereignisse löscht: Administratoren tun es über die API, Betreiber auf der Befehlszeile.',
  ],
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
