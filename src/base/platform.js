// @ts-check
/**
 * The Node releases and C libraries that the service runs on, and which package's build of uWebSockets.js fits them:
 * the one place that knows. It is plain JavaScript of old syntax, as it runs before anything else does: before there
 * is a loader of TypeScript, and on releases that know little of what follows.
 */

/** Builds for Node 18 to 22; they run on older systems. */
const older = { package: 'uWebSockets.js', glibcMinorMin: 27 };
/** Builds for Node 22 and later; they tell the client's port. */
const newer = { package: 'uwebsockets', glibcMinorMin: 38 };

/** By major release; `engines` of package.json says the same. The second build is for systems too old for the first. */
const releases = [
  { major: 20, minorMin: 19, build: older, fallback: older },
  { major: 22, minorMin: 12, build: newer, fallback: older },
  { major: 24, minorMin: 0, build: newer, fallback: newer },
];

/**
 * @typedef {object} Platform
 * @property {string} node as `process.version` has it
 * @property {string} system as `process.platform` has it
 * @property {() => string | undefined} glibc asked for once Node itself is known to fit; undefined = another C library
 */

/**
 * The package to load, or one line for whoever starts the service: what to install instead.
 *
 * @param {Platform} platform
 * @returns {{ package: string, refusal?: undefined } | { package?: undefined, refusal: string }}
 */
export function chooseHttpPackage(platform) {
  const [major, minor] = platform.node.slice(1).split('.').map(Number);
  const release = releases.find((known) => known.major === major && Number(minor) >= known.minorMin);
  if (release === undefined)
    return {
      refusal: `Node.js ${platform.node} is not supported: install 20.19, 22.12, 24 or a later one of these`,
    };
  const { build, fallback } = release;
  if (platform.system !== 'linux') return build;
  const glibc = platform.glibc();
  if (glibc === undefined)
    return { refusal: 'this system has no glibc: take one that has, such as Debian or Ubuntu' };
  const glibcMinor = minorOf(glibc);
  if (glibcMinor >= build.glibcMinorMin) return build;
  if (glibcMinor >= fallback.glibcMinorMin) return fallback;
  const wish = `Node.js ${major} needs glibc 2.${fallback.glibcMinorMin} or newer, and this system has ${glibc}`;
  const other = glibcMinor >= older.glibcMinorMin ? 'Node.js 22 or ' : '';
  return { refusal: `${wish}: take ${other}a newer system, such as Debian 13 or Ubuntu 24.04` };
}

/** @param {string} glibc */
function minorOf(glibc) {
  const [major, minor] = glibc.split('.').map(Number);
  return major === 2 ? Number(minor) : Number.POSITIVE_INFINITY;
}

/** @returns {string | undefined} */
function glibcVersion() {
  // Without it the report looks up names of open connections, which takes its time.
  Object.assign(process.report, { excludeNetwork: true });
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header.glibcVersionRuntime;
}

/** What was chosen for this process. */
export const httpPackage = chooseHttpPackage({
  node: process.version,
  system: process.platform,
  glibc: glibcVersion,
});
