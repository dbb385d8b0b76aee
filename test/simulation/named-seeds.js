/**
 * Seeds that once failed. Each run begins with them; a mend leaves its seed here.
 *
 * @typedef {object} NamedSeed
 * @property {number} seed
 * @property {string} scenario
 * @property {string} found what it found, a sentence
 */

/** @type {readonly NamedSeed[]} */
export const NAMED_SEEDS = [
  { seed: 1033, scenario: 'default', found: 'a join while its log was being restored got `internal`, after which no client tries again' },
  { seed: 17, scenario: 'kafka', found: 'a batch that waited for Redis while its member was cut off from Kafka ended the consumer' },
  { seed: 12, scenario: 'rights', found: 'a clock of Redis that was set back made pages of a document load again with its first record' },
  { seed: 34, scenario: 'rights', found: 'a worker that was cut off past its lease did not tell again that its users are online' },
  { seed: 25, scenario: 'rights', found: 'a member whose departure Redis had lost stayed, as nobody else of its worker had the document ' +
    'open' },
  { seed: 116, scenario: 'default', found: 'a process whose number another one had removed the registration of its user, and orders did ' +
    'not reach the user' },
  { seed: 20, scenario: 'default', found: 'the answer to a join counted the page itself, which Redis had lost, and the next message did ' +
    'not' },
  { seed: 51, scenario: 'default', found: 'a worker that stopped while one node of Redis was down gave up on departures that the other ' +
    'nodes would have taken' },
  { seed: 41018, scenario: 'replica', found: 'the service of the check knew a queued edit by the event, and an edit whose number a ' +
    'failover lost comes as two events' },
  { seed: 33018, scenario: 'rights', found: 'the check took a document for open whose page had left it without an answer in time' },
  { seed: 1795869374, scenario: 'default', found: 'the check missed records between one that came before the answer to the first join, ' +
    'and the answer on the next connection, at which the page loads its document' },
  { seed: 5, scenario: 'devices', found: 'a client of MQTT whose session could not be read from Redis was refused with an internal ' +
    'error' },
  { seed: 6, scenario: 'devices', found: 'a `doc:resync` to a dead connection of MQTT was lost: the session went on in the next log' },
  { seed: 16, scenario: 'devices', found: 'a session of MQTT lost the subscription to a document that could not be opened again at ' +
    'once' },
  { seed: 19, scenario: 'devices', found: 'the check took for lost what a service had published, and a page had loaded, ' +
    'before the answer to the publication' },
  { seed: 13, scenario: 'devices', found: 'the check expected a receipt for each PUBACK, also for records that ask for none' },
  { seed: 89, scenario: 'devices', found: 'an order to end the connection before, which Redis did not take, was not sent ' +
    'again: two connections of one id until the next renewal' },
  { seed: 120, scenario: 'devices', found: 'the check awaited the last takeover of a device that was opened after it' },
  { seed: 165, scenario: 'devices', found: 'the check took a revoke with a time for ended, although the clock of Redis was ' +
    'set back' },
  { seed: 1795941804, scenario: 'default', found: 'a revoke with `x-ttl` ended early, by up to half the time of a slow answer of ' +
    'Redis' },
  { seed: 1795942440, scenario: 'default', found: 'a change of the members came after an answer that had it already, with an ' +
    'older version' },
  { seed: 1795941833, scenario: 'default', found: 'a member stayed that a worker without a connection had written: it came after ' +
    'the cleanup of its incarnation' },
  { seed: 200494, scenario: 'default', found: 'a list of members that was read again, for a loss that was noticed while it was ' +
    'read, was not sent' },
  { seed: 200435, scenario: 'shards', found: 'the same, after one node had lost its data' },
  { seed: 437, scenario: 'devices', found: 'the check took an edit for out of order that a webhook answered before Redis lost ' +
    'everything, and that was published after it, as its key was lost' },
  { seed: 399, scenario: 'devices', found: 'the check expected the end of a connection on which a fault had let nothing pass any ' +
    'more' },
  { seed: 501, scenario: 'devices', found: 'a worker that was killed after a loss of data, when it had written its members and Redis ' +
    'did not know it yet, left them in open documents' },
  { seed: 1351, scenario: 'devices', found: 'offline was the last event of a user who is online: a registration arrived after ' +
    'the cleanup of its worker' },
  { seed: 1311, scenario: 'devices', found: 'members stayed that a worker wrote after another process had taken its number, as Redis ' +
    'had lost its lease' },
  { seed: 1090, scenario: 'devices', found: 'a client of MQTT that handles one record at a time was slower than the records came' },
  { seed: 1746, scenario: 'devices', found: 'an api that never knew complete data took an empty Redis for one without workers, when ' +
    'the data was lost once more 13 s after its start' },
  { seed: 1994, scenario: 'devices', found: 'a user whose connection had ended stayed online: Redis was started again without its last ' +
    'writes, and the worker did not release the user once more' },
  { seed: 301100, scenario: 'default', found: 'a loss of data was not noticed on a node of Redis Cluster that got a hash slot before ' +
    'its first one at that time' },
  { seed: 1958, scenario: 'devices', found: 'the check took records for a gap that came again after a session was restored from ' +
    'before a loss' },
  { seed: 1300, scenario: 'devices', found: 'an older connection of a device ended its newer one for good: Redis had lost all data ' +
    'after its clock was set back, so that the newer claim had the lower number' },
  { seed: 302084, scenario: 'default', found: 'members stayed that a worker wrote after another process had taken its number: that ' +
    'process had forgotten in which documents to look for them' }
]
