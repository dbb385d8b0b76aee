/**
 * Domains below which everybody can get a name: a pattern for them would let in pages of strangers. The list has those
 * in most use; the whole one (publicsuffix.org) has 10,000 entries and changes every week.
 */

/** Second labels below which registries of countries sell names: `co.uk`, `com.br`. */
const REGISTRIES =
  new Set(['ac', 'co', 'com', 'edu', 'gen', 'go', 'gob', 'gov', 'ltd', 'ne', 'net', 'nom', 'or', 'org', 'plc', 'sch'])

/** Hosting services, whose customers choose a name. */
const HOSTS = new Set([
  'amplifyapp.com', 'appspot.com', 'azurestaticapps.net', 'azurewebsites.net', 'blogspot.com', 'cloudfront.net',
  'codesandbox.io', 'csb.app', 'deno.dev', 'duckdns.org', 'elasticbeanstalk.com', 'firebaseapp.com', 'fly.dev',
  'github.dev', 'github.io', 'gitlab.io', 'gitpod.io', 'glitch.me', 'herokuapp.com', 'loca.lt', 'lovable.app',
  'myshopify.com', 'netlify.app', 'ngrok-free.app', 'ngrok-free.dev', 'ngrok.app', 'ngrok.dev', 'ngrok.io', 'nip.io',
  'ondigitalocean.app', 'onrender.com', 'pages.dev', 'railway.app', 'up.railway.app', 'readthedocs.io', 'repl.co',
  'replit.app', 'replit.dev', 'run.app', 'sslip.io', 'stackblitz.io', 'streamlit.app', 'supabase.co', 'surge.sh',
  'trycloudflare.com', 'vercel.app', 'web.app', 'webcontainer.io', 'wordpress.com', 'workers.dev',
  's3.amazonaws.com', 'amazonaws.com', 'on.aws', 'windows.net', 'web.core.windows.net', 'blob.core.windows.net'
])

/** @param {readonly string[]} labels of a domain, at least two, lower case @returns {boolean} */
export function isShared (labels) {
  const [second, top] = labels.slice(-2)
  return (labels.length === 2 && top.length === 2 && REGISTRIES.has(second)) || HOSTS.has(labels.join('.'))
}
