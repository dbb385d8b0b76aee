/**
 * The parts of `npm run proof`: commands that exist for themselves, and what their saved results say about losses.
 */

/**
 * Results of a part.
 * @typedef {object} Shown
 * @property {string} amount what was run
 * @property {string[]} lost what did not arrive, or not once and in order, and how to repeat it; empty: nothing
 * @property {string[]} [limits] limits of cost that were exceeded: reported, but nothing was lost
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {string} question that it answers
 * @property {{ args: string[], minutes: number }} full arguments of Node, and the approximate duration
 * @property {{ args: string[], minutes: number }} quick
 * @property {Record<string, string>} [env]
 * @property {string} results name of its files in the folder of results
 * @property {(results: any) => Shown} read its JSON
 */

/** @param {number} value */
const thousands = (value) => Math.round(value).toLocaleString('en-US')

/** @param {number[]} values */
const sum = (values) => values.reduce((all, value) => all + value, 0)

/** @param {Record<string, number>} counts @param {string} of @returns {string[]} those above zero */
const above = (counts, of) => Object.entries(counts).filter(([, count]) => count > 0)
  .map(([name, count]) => `${of}: ${thousands(count)} ${name}`)

/** @param {any} load the result of the load tool @param {string} name */
const lostInLoad = ({ missing, summary: { holes, doubled } }, name) => above({
  'missing in documents': missing.documents, 'missing of records to everyone': missing.everyone,
  'in surplus': missing.surplus ?? 0, holes, doubled
}, name)

/** @type {Part[]} */
export const PARTS = [
  {
    name: 'simulation',
    question: 'Does any order of faults break a promise? Whole clusters in virtual time, seeds never run before',
    full: { args: ['scripts/simulate.js', '--minutes', '60', '--keep-going', '--no-shrink', '--save'], minutes: 61 },
    quick: { args: ['scripts/simulate.js', '--minutes', '4', '--keep-going', '--no-shrink', '--save'], minutes: 5 },
    results: 'simulation',
    read: ({ seeds, seconds, failed }) => ({
      amount: `${thousands(seeds)} seeds, ${thousands(seconds)} virtual seconds`,
      lost: failed.map((/** @type {{ command: string, violation: string }} */ { command, violation }) =>
        `${violation} (to repeat it: \`${command}\`)`)
    })
  },
  {
    name: 'faults',
    question: 'Does a real cluster lose records when a process, Redis or Kafka is killed, frozen or replaced?',
    full: { args: ['scripts/fault.js'], minutes: 25 },
    quick: { args: ['scripts/fault.js', 'processes', '--', '--test-name-pattern=kill -9|rolling reload'], minutes: 4 },
    results: 'fault',
    read: ({ rows }) => ({
      amount: `${rows.length} faults, ${thousands(sum(rows.map((/** @type {any} */ row) => row.deliveries)))} deliveries`,
      lost: rows.flatMap((/** @type {any} */ { fault, lost, disordered, doubled }) =>
        above({ lost, 'out of order': disordered, doubled }, fault))
    })
  },
  {
    name: 'attacks',
    question: 'Does an attacker end a port, starve others, or make a process grow?',
    full: { args: ['scripts/attack.js'], minutes: 6 },
    quick: { args: ['scripts/attack.js', '--', '--test-name-pattern=WebSocket|JSON|gRPC'], minutes: 3 },
    env: { ATTACK_SECONDS: '3' },
    results: 'attack',
    read: ({ rows }) => ({
      amount: `${rows.length} attacks of ${rows[0]?.seconds} s`,
      lost: rows.flatMap((/** @type {any} */ { attack, missing }) => above({ 'missing at other clients': missing }, attack))
    })
  },
  {
    name: 'load',
    question: 'Does everything arrive at many connections, with churn, reloads and a killed worker?',
    full: { args: ['bench/published.js', '--connections', '10000', '--hold', '30', '--tls', 'off'], minutes: 10 },
    quick: {
      args: ['bench/published.js', '--connections', '2000', '--hold', '15', '--tls', 'off', '--only', 'everyone,documents,faults'],
      minutes: 3
    },
    results: 'published',
    read: ({ runs, connections }) => ({
      amount: `${runs.length} scenarios, ${thousands(connections)} connections, ` +
        `${thousands(sum(runs.map((/** @type {any} */ { summary }) => summary.deliveries)))} deliveries`,
      lost: runs.flatMap((/** @type {any} */ run) => lostInLoad(run, run.name)),
      limits: runs.flatMap((/** @type {any} */ { name, problems }) =>
        problems.map((/** @type {string} */ problem) => `${name}: ${problem}`))
    })
  },
  {
    name: 'cost',
    question: 'Is a delivery as cheap as it was, beside the usual Node set-up in the same run?',
    full: { args: ['bench/run.js', '--quick', '--save', '--rounds', '2'], minutes: 4 },
    quick: { args: ['bench/run.js', '--quick', '--save'], minutes: 2 },
    results: 'delivery',
    read: ({ rounds }) => {
      const own = rounds.filter((/** @type {any} */ { system }) => system === 'inkcast')
      const phases = own.flatMap((/** @type {any} */ { burst, single, steady }) => [burst, single, steady])
        .filter((/** @type {unknown} */ phase) => phase !== undefined)
      return {
        amount: `${thousands(sum(phases.map((/** @type {any} */ { deliveries }) => deliveries)))} deliveries`,
        lost: phases.flatMap((/** @type {any} */ { missing, doubled, disordered }) =>
          above({ missing, doubled, 'out of order': disordered }, 'inkcast'))
      }
    }
  },
  {
    name: 'soak',
    question: 'Is anything left, or growing, after a long run with churn and faults?',
    full: { args: ['bench/soak.js', '--minutes', '40'], minutes: 45 },
    quick: { args: ['bench/soak.js', '--minutes', '3', '--connections', '500', '--every', '1'], minutes: 6 },
    results: 'soak',
    read: ({ result: { load, faults }, problems }) => ({
      amount: `${thousands(load.seconds / 60)} minutes, ${faults.length} faults, ${thousands(load.summary.deliveries)} deliveries`,
      lost: lostInLoad(load, 'soak'),
      limits: problems
    })
  }
]
