import { locationOf } from './people.ts';
import type { Script, Story } from './script.ts';
import { makeFile } from './things.ts';

const [victim, helper, rescuer, auditor] = ['priya.shah', 'rajesh.iyer', 'siobhan.oconnor', 'oliver.hughes'];
const [entry, haul, rescue] = [
  '91d3e0b7-52c8-4a1f-8e6d-0f7a3b9c2d15',
  '2b9f4c1e-6d0a-4e5b-9c37-81f0a5d2e6b4',
  'c4a1d7f2-0b6e-4f83-a95d-3e7c12b8f069',
];
const guesses = 52;
const stolenFiles = 4_000;
const facts = { city: 'Amsterdam', network: 'hosting provider', client: 'python-requests/2.32' };
const abroad = locationOf('192.0.2.177', 'Amsterdam', 27_500_000, facts);
const stopped = 'The password of {what} was right and the code did not match';
const signedIn = '{who} signed in by password from';

function guess(script: Script): void {
  const her = script.person(victim);
  const circumstances = { from: abroad, extra: { method: 'password' } };
  let micros = script.at('Tue 22:41:07') + script.company.draw.integer(0, 999_999);
  for (let left = guesses; left > 0; left -= 1) {
    script.add(micros, her, 1002, her.account, 'Wrong password for {what}', circumstances);
    micros += script.company.draw.integer(140_000_000, 270_000_000);
  }
}

/** One action: every picture of an unreleased film. */
function download(script: Script): void {
  const her = script.person(victim);
  let micros = script.at('Wed 02:33:11');
  for (let shot = 1; shot <= stolenFiles; shot += 1) {
    const name = `Northern Wake shot ${String(shot).padStart(4, '0')} final.exr`;
    const file = makeFile(script.company.draw, name, 'VFX/Comps');
    micros = script.download(micros, her, file, abroad, haul);
  }
}

/** An account's password is guessed and its files are stolen; the next morning someone notices. */
export const theft: Story = {
  begins: 5,
  eventsMin: 5_000,
  cast: [victim, helper, rescuer, auditor],
  clues: [
    ['Somebody guesses a password', [victim, 'Tue 22:30:00', 'Wed 02:00:00']],
    ['An administrator means well', [helper, 'Wed 02:00:00', 'Wed 02:30:00']],
    ['Somebody comes in', entry],
    ['What is taken', haul],
    ['What stays behind', [victim, 'Wed 03:35:00', 'Wed 09:00:00']],
    ['Somebody notices', rescue],
    ['The auditor takes the evidence along', [auditor, 'Thu 14:00:00', 'Thu 14:30:00']],
  ],
  tell(script) {
    guess(script);
    // The second factor holds, until someone calls the help desk in her name.
    script.play({ from: abroad, flow: entry }, [
      ['Wed 01:52:31', victim, 1102, victim, stopped],
      ['Wed 01:52:58', victim, 1102, victim, stopped],
      ['Wed 01:53:40', victim, 1102, victim, stopped],
    ]);
    script.play({}, [
      ['Wed 02:04:12', helper, 1001, helper, `${signedIn} Bengaluru`],
      [
        'Wed 02:16:40',
        helper,
        1103,
        victim,
        '{who} switched MFA off for {what}: phone lost; asked by telephone',
      ],
    ]);
    script.play({ from: abroad, flow: entry }, [
      ['Wed 02:21:05', victim, 1001, victim, `${signedIn} Amsterdam`],
      ['Wed 02:22:10', victim, 1100, victim, '{who} set up an authenticator app'],
    ]);
    script.play({ from: abroad }, [
      ['Wed 02:24:18', victim, 6301, 'Distribution/Screeners', '{who} looked at {what}: 36 items'],
      ['Wed 02:27:40', victim, 6301, 'VFX/Comps', '{who} looked at {what}: 9174 items'],
    ]);
    script.play({ from: abroad, flow: haul }, [
      ['Wed 02:33:10', victim, 2002, 'VFX/Comps', '{who} begins to download {what}'],
    ]);
    // A key for later access, after the download.
    script.play({ from: abroad }, [
      ['Wed 03:41:52', victim, 1300, 'backup-sync', '{who} made an API key: {what} (read; no expiry)'],
    ]);
    // In the morning an administrator reads the log.
    script.play({ flow: rescue }, [
      ['Wed 09:03:20', rescuer, 1302, 'backup-sync', '{who} revoked the API key {what}: nobody here made it'],
      ['Wed 09:04:02', rescuer, 1030, victim, '{who} ended the session of {what} in Amsterdam'],
      ['Wed 09:05:15', rescuer, 1006, victim, '{who} disabled {what} until she has been asked'],
      ['Wed 09:11:40', rescuer, 6200, 'deny-192.0.2.177', '{who} made the network rule {what}'],
      ['Wed 11:30:26', rescuer, 1007, victim, '{who} enabled {what} again'],
      ['Wed 11:42:09', victim, 1012, victim, '{who} chose a new password by the link'],
      ['Wed 11:44:31', victim, 1100, victim, '{who} set up an authenticator app'],
    ]);
    script.play({}, [
      ['Thu 14:02:47', auditor, 1001, auditor, `${signedIn} London`],
      ['Thu 14:09:13', auditor, 2030, 'acme', '{who} exported audit events of priya.shah as CSV'],
      ['Thu 14:21:38', auditor, 1003, auditor, '{who} signed out'],
    ]);
    download(script);
  },
};
