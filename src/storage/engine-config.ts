import { createHash } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { limits } from './limits.ts';
import { rewritesOff } from './rewrites.ts';
import type { EngineConnection } from './storage.ts';

/**
 * Bytes per second and core. Mutations (removals, erasures) rewrite whole parts at some 25 MB/s per core, and are not urgent:
 * reads hide expired events by themselves.
 */
const mutationBytesOfCore = 2_000_000;
const gibibyte = 1024 ** 3;
const mergeThreadsMin = 3;
const mergesAtOnceMin = 2 * mergeThreadsMin;
const mebibyte = 1024 ** 2;

/** Every request must carry this header beside the password; without it the engine has no handler. */
export const tokenHeader = 'X-Engine-Token';

export interface EngineConfig extends EngineConnection {
  readonly engineDir: string;
  readonly port: number;
  readonly memoryBytesMax: number;
}

function xmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function defaultMemoryBytesMax(): number {
  const allowed = process.constrainedMemory();
  const total = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
  return Math.floor(Math.min(Math.max(total / 4, gibibyte), 4 * gibibyte));
}

/**
 * The engine's configuration, at `file`, which also has the users.
 *
 * - `old_parts_lifetime` keeps the sources of merged parts until the kernel has written these, as merges are
 *   not synced.
 * - A full disk truncates parts without an error, so some room stays free.
 * - A mutation waiting for its bandwidth occupies a merge thread, so one begins only while two are free.
 * - The session that keeps the engine running is `default`, without a password: it may hold one session, and
 *   only open the listener. Everything else is `audit`, by password. Backups may go anywhere, as only `audit`
 *   may make them.
 * - The engine waits for a slow reader longer than the HTTP server does (`streamStallMsMax`).
 */
export function renderConfig(config: EngineConfig, file: string): string {
  const { engineDir, port, user, password, headers, memoryBytesMax } = config;
  const markCache = Math.min(Math.floor(memoryBytesMax / 8), 256 * mebibyte);
  const indexCache = Math.min(Math.floor(memoryBytesMax / 16), 128 * mebibyte);
  const hash = createHash('sha256').update(password).digest('hex');
  const off = Object.entries(rewritesOff).map(([name, value]) => `<${name}>${value}</${name}>`);
  const mergeThreads = Math.max(mergeThreadsMin, Math.min(8, Math.floor(availableParallelism() / 2)));
  return `<clickhouse>
<users_config>${xmlText(file)}</users_config>
<listen_host>127.0.0.1</listen_host>
<http_port>${port}</http_port>
<timezone>UTC</timezone>
<keep_alive_timeout>60</keep_alive_timeout>
<max_keep_alive_requests>1000000</max_keep_alive_requests>
<max_concurrent_queries>256</max_concurrent_queries>
<max_server_memory_usage>${memoryBytesMax}</max_server_memory_usage>
<mark_cache_size>${markCache}</mark_cache_size>
<primary_index_cache_size>${indexCache}</primary_index_cache_size>
<index_mark_cache_size>${indexCache}</index_mark_cache_size>
<uncompressed_cache_size>0</uncompressed_cache_size>
<background_pool_size>${mergeThreads}</background_pool_size>
<max_mutations_bandwidth_for_server>${mutationBytesOfCore * availableParallelism()}</max_mutations_bandwidth_for_server>
<backups><allowed_path>/</allowed_path></backups>
<user_files_path>${xmlText(join(engineDir, 'user_files'))}</user_files_path>
<format_schema_path>${xmlText(join(engineDir, 'format_schemas'))}</format_schema_path>
<storage_configuration><disks><default><keep_free_space_bytes>${limits.engineFreeBytesMin}</keep_free_space_bytes></default></disks></storage_configuration>
<merge_tree>
<old_parts_lifetime>480</old_parts_lifetime><fsync_after_insert>1</fsync_after_insert><fsync_part_directory>1</fsync_part_directory>
<min_age_to_force_merge_seconds>${limits.quietPartitionSeconds}</min_age_to_force_merge_seconds>
<min_age_to_force_merge_on_partition_only>1</min_age_to_force_merge_on_partition_only>
<number_of_free_entries_in_pool_to_execute_optimize_entire_partition>${mergesAtOnceMin}</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
<number_of_free_entries_in_pool_to_execute_mutation>${mergeThreads + 2}</number_of_free_entries_in_pool_to_execute_mutation>
</merge_tree>
<http_handlers><rule><url>/</url><headers><${tokenHeader}>${headers[tokenHeader]}</${tokenHeader}></headers><handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler></rule></http_handlers>
<profiles><default><http_send_timeout>600</http_send_timeout>${off.join('')}</default><local><max_sessions_for_user>1</max_sessions_for_user></local></profiles>
<quotas><default/></quotas>
<users>
<default><no_password/><networks><ip>127.0.0.1</ip></networks><profile>local</profile><quota>default</quota><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default>
<${user}><password_sha256_hex>${hash}</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><access_management>1</access_management></${user}>
</users>
</clickhouse>
`;
}
