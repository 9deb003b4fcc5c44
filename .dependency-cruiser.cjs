/** The arrow table of ARCHITECTURE.md: what each folder may import. Everything that is not allowed here is an error. */
const folders = {
  base: [],
  tlog: [],
  config: ['adapters', 'base'],
  contract: ['base'],
  ocsf: ['base'],
  adapters: ['ocsf', 'base'],
  ingest: ['adapters', 'ocsf', 'base'],
  storage: ['base'],
  read: ['storage', 'contract', 'ocsf', 'base'],
  evidence: ['tlog', 'storage', 'base'],
  control: ['storage', 'base'],
  'sign-on': ['control', 'base'],
  redis: ['base'],
  http: ['ingest', 'read', 'evidence', 'sign-on', 'control', 'contract', 'adapters', 'base'],
  client: [],
  demo: ['ocsf'],
  tools: ['adapters', 'ocsf', 'tlog', 'client', 'base'],
  erasure: ['tlog', 'ocsf', 'control', 'storage', 'config', 'base'],
  backup: ['tools', 'control', 'ingest', 'storage', 'config', 'client', 'base'],
  cli: [
    'tools',
    'erasure',
    'backup',
    'adapters',
    'ocsf',
    'config',
    'ingest',
    'storage',
    'read',
    'evidence',
    'tlog',
    'sign-on',
    'control',
    'client',
    'contract',
    'demo',
    'base',
  ],
};

const allowed = Object.entries(folders).map(([folder, others]) => ({
  from: { path: `^src/${folder}/` },
  to: { path: `^src/(${[folder, ...others].join('|')})/` },
}));

/** The page: views know what they share and what they ask, never each other. */
const pageFolders = { api: [], ui: ['api'], frame: ['ui', 'api'] };
const pageParts = Object.entries(pageFolders).map(([folder, others]) => ({
  from: { path: `^web/${folder}/` },
  to: { path: `^web/(${[folder, ...others].join('|')})/` },
}));
const page = [
  ...pageParts,
  { from: { path: '^web/((?!api/|ui/|frame/)[a-z-]+)/' }, to: { path: '^web/($1|ui|api)/' } },
  { from: { path: '^web/(?:events|ui)/' }, to: { path: '^src/base/events/fold-case\\.ts$' } },
  { from: { path: '^web/frame/' }, to: { path: '^web/views\\.ts$' } },
  { from: { path: '^web/(main\\.tsx|views\\.ts)$' }, to: { path: '^web/' } },
  {
    from: { path: '^web/' },
    to: { dependencyTypes: ['npm-dev'], path: 'node_modules/(preact|@preact/signals)/' },
  },
  { from: { path: '^web/(vite\\.config\\.ts|build\\.mjs)$' }, to: { dependencyTypes: ['core', 'npm-dev'] } },
  { from: { path: '^web/vite\\.config\\.ts$' }, to: { path: '^web/ui/words\\.ts$' } },
];

/** Types that `npm run openapi` makes. */
const types = {
  from: { path: '^(src/(contract|client|tools)|web/api)/' },
  to: { path: '^schema/(openapi|commands)\\.d\\.ts$' },
};
const packages = { from: { path: '^src/' }, to: { dependencyTypes: ['core', 'npm', 'npm-optional'] } };

module.exports = {
  allowed: [
    ...allowed,
    ...page,
    types,
    packages,
    {
      from: { path: '^src/(service/|((main|cli|tools|command-line)\\.ts|check-platform\\.js)$)' },
      to: {},
    },
  ],
  allowedSeverity: 'error',
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'environment-is-read-in-one-place',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(config|cli|tools\\.ts|command-line|main)' },
      to: { path: '^src/config/env\\.ts$' },
    },
    {
      name: 'no-development-dependency-in-the-product',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6', 'cjs'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
