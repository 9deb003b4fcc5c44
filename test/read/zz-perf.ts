import { createReceiptsReader } from '../../src/read/receipts.ts';
import { startTestEngine } from '../support/engine.ts';
import { readFileSync } from 'node:fs';
const e = await startTestEngine();
const pid = JSON.parse(readFileSync(`${e.dataDir}/engine.json`,'utf8')).pid;
const rss = () => readFileSync(`/proc/${pid}/status`,'utf8').match(/VmRSS:\s+(\d+)/)![1];
const org='11111111-1111-1111-1111-111111111111';
const ins = (n:number, seq0:number, step:number, settings={}) => e.storage.command(`INSERT INTO events (org,time,seq,activity_id,activity_name,severity,status,level,result_code,actor_email,actor_id,names,file_hash,flow_id,expires,ocsf,source)
SELECT toUUID({org:String}), toDateTime64('2025-01-01 00:00:00',6,'UTC') + toIntervalMicrosecond(number*${step}), number+${seq0}, 2000+number%4,'x','Informational','Success','INFO',200,concat('u',toString(number%1000),'@x'),'',['a'],[],toUUID('00000000-0000-0000-0000-000000000000'),'2149-06-06', '', concat('{"n":',toString(number),',"pad":"',repeat(hex(cityHash64(number)),45),'"}') FROM numbers(${n})`,{org},{timeoutMs:600000,settings:{max_partitions_per_insert_block:0,...settings}});
console.log('start', rss());
await ins(1500000, 0, 100000);   // 150000 s ~ 2 days: single month
await ins(1500000, 1500000, 30000000*0.7); // ~ 1 year over 12 partitions
console.log('inserted', rss(), await e.storage.rows(`select count() c, uniqExact(partition) p, formatReadableSize(sum(data_uncompressed_bytes)) s from system.parts where active and table='events'`));

const sig = () => new AbortController().signal;
const qs: any[] = [];
const st = {...e.storage, rows: async (q:string,p:any,o:any)=>{ qs.push([q,p]); const b=performance.now(); const r = await e.storage.rows(q,p,o); console.log('   ', q.slice(0,60).replaceAll('\n',' '), (performance.now()-b).toFixed(0)); return r; }} as typeof e.storage;
const time = async (label:string, f:()=>Promise<any>, n=3) => { for (let i=0;i<n;i++){ let peak=0; const t=setInterval(()=>{peak=Math.max(peak,+rss())},10); const b=performance.now(); const r = await f().catch(e=>String(e)); clearInterval(t); console.log(label, (performance.now()-b).toFixed(0),'ms', 'rss', peak, JSON.stringify(r).slice(0,150)); } };
const R=createReceiptsReader(st);
await time('receipts one of 1000 users', ()=>R(org,{id:'x',email:'u5@x'},{limit:50,offset:0},sig()));
const rq=qs[0]; 
for (const [n,s] of [['q',{}],['idx',{min_table_rows_to_use_projection_index:0}],['mt1',{max_threads:1}],['noproj',{optimize_use_projections:0}]] as const) await time(n, ()=>e.storage.rows(rq[0],rq[1],{settings:s}));
const br = rq[0].slice(rq[0].indexOf('FROM (\n  SELECT flow_id, arrayJoin')>0?0:0);
0 && await time('scan email', ()=>e.storage.rows("SELECT count(), sum(length(names)) FROM events WHERE org={org:UUID} AND activity_id IN (2000, 2001, 2005) AND actor_email={email:String}",rq[1]));
await time('scan email noproj', ()=>e.storage.rows("SELECT count(), sum(length(names)) FROM events WHERE org={org:UUID} AND activity_id IN (2000, 2001, 2005) AND actor_email={email:String}",rq[1],{settings:{optimize_use_projections:0}}));
0 && await time('scan id', ()=>e.storage.rows("SELECT count(), sum(length(names)) FROM events WHERE org={org:UUID} AND activity_id IN (2000, 2001, 2005) AND actor_id={id:String} AND actor_email!={email:String}",rq[1]));
await e.storage.command("INSERT INTO events SELECT * REPLACE(seq+100000000 AS seq, 'big@x' AS actor_email, generateUUIDv4() AS flow_id) FROM events LIMIT 2000000",{},{timeoutMs:100000});
const cq=qs.find(x=>x[0].includes('count() AS total'));
await time('count of 2M', ()=>e.storage.rows(cq[0],{...rq[1],email:'big@x'}),1);
await time('count of 2M spill', ()=>e.storage.rows(cq[0],{...rq[1],email:'big@x'},{settings:{max_bytes_before_external_group_by:128000000,max_bytes_before_external_sort:128000000}}),1);
await time('rows of 2M', ()=>e.storage.rows(rq[0],{...rq[1],email:'big@x'}),1);
await time('receipts of 2M', ()=>R(org,{id:'x',email:'big@x'},{limit:50,offset:0},sig()),1);
await e.stop();
process.exit(0);
