/**
 * Which Redis this is. Data that was complete stays so within one generation: the time from a start of a server, or
 * from its promotion, to the next one. Scripts compare the generation that they find in the data with that of the
 * server that executes them (scripts/include/generation.lua), so no process can be mistaken about it. Processes compare
 * servers only to find the right one (moved-address.js, same-server.js), to follow hash slots (moved-slots.js), and to
 * confirm writes (../durability/).
 *
 * | what happens to Redis | server | generation | key |
 * |---|---|---|---|
 * | restart with all, some or none of its data, or with a snapshot | another | another | stays, or is gone |
 * | promotion of a replica, perhaps of one that was behind | stays | another | stays, or is gone |
 * | the address, or a subscriber, leads to another server | another | another, or that of its master | |
 * | a hash slot moves to another node | another | another, and the old node still has its own | stays |
 * | FLUSHALL, eviction | stays | stays | is gone |
 *
 * Why: docs/internals/decisions/0094-losses-of-redis.md
 *
 * @typedef {object} Identity
 * @property {string | undefined} server its run id, from its start to its end; undefined: not reported
 * @property {string | undefined} generation of its data, as include/generation.lua shortens it; undefined: it is not a
 *   master, or reports none
 */

/** Characters of a replication id. */
const ID_LENGTH = 20

/** @param {string} info INFO @returns {Identity} */
export const identityIn = (info) => ({
  server: /^run_id:(\w+)/m.exec(info)?.[1],
  generation: /^role:master/m.test(info) ? /^master_replid:(\w+)/m.exec(info)?.[1].slice(0, ID_LENGTH) : undefined
})

/** @param {import('ioredis').Redis} redis connected @returns {Promise<Identity>} of the server behind it */
export const identityOf = async (redis) => identityIn(await redis.info())
