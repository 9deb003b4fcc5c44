import { sizeText } from './happening.ts';
import type { Script, Story } from './script.ts';
import { type DemoFile, makeFile } from './things.ts';

const [leaver, personnel, admin] = ['t.zielinski', 's.grossmann', 'u.schaefer'];
const closing = '6a0e8b3d-f417-4c92-b1d8-5927e0c4a3f6';
const list = 'Kundenliste Österreich 2026.csv';
/** His visits after his last day, and the number of files he takes. */
const visits = [
  ['Sat 09:17:22', 14],
  ['Sun 19:42:05', 9],
  ['Mon 05:31:48', 3],
] as const;

/** Signs in from home and downloads files of his work. */
function takeAlong(script: Script, begins: number, files: number): void {
  const { draw, things } = script.company;
  const he = script.person(leaver);
  const from = he.home;
  const stolen = new Set<DemoFile>();
  let micros = begins + draw.integer(0, 999_999);
  script.add(micros, he, 1001, he.account, `{who} signed in by ${he.method} from ${from.city}`, { from });
  while (stolen.size < files) {
    micros += draw.integer(20_000_000, 110_000_000);
    const file = things.file(he.department);
    if (stolen.has(file)) continue;
    stolen.add(file);
    const flow = draw.uuid();
    const message = `{who} begins to download {what} (${sizeText(file.bytes)})`;
    script.add(micros, he, 2002, file, message, { from, flow });
    micros = script.download(micros, he, file, from, flow);
  }
}

/** Someone's last day is a Friday; his account is disabled on Monday. */
export const leaving: Story = {
  begins: 10,
  eventsMin: 500,
  cast: [leaver, personnel, admin],
  clues: [
    ['Somebody who has left works on', [leaver, 'Fri 13:00:00', 'Mon 07:00:00']],
    ['His account is closed', closing],
  ],
  tell(script) {
    script.play({}, [
      ['Thu 13:10:31', personnel, 1004, leaver, '{who} entered the last working day of {what}: Friday'],
      ['Fri 11:48:09', leaver, 1003, leaver, '{who} signed out'],
    ]);
    script.play({ flow: closing }, [
      ['Mon 06:52:40', admin, 1006, leaver, '{who} disabled {what}: the last working day was Friday'],
      ['Mon 06:53:12', admin, 1030, leaver, '{who} ended the session of {what} at home'],
      ['Mon 06:58:55', admin, 6305, list, '{who} stopped sharing {what} with tomasz@mail.example'],
    ]);
    for (const [moment, files] of visits) takeAlong(script, script.at(moment), files);
    const he = script.person(leaver);
    const file = makeFile(script.company.draw, list, 'Vertrieb/Angebote');
    const share = '{who} shared {what} with tomasz@mail.example';
    script.add(script.at('Sun 20:41:16') + 407_215, he, 6304, file, share, { from: he.home });
  },
};
