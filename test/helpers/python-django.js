import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pythonEnvironment } from './python-environment.js'

/** Django, in an environment of its own. */

const { python, lacks } = pythonEnvironment(['django==5.2.8', 'standardwebhooks==1.1.0'])

export { lacks as lacksDjango }

/**
 * A project with one view, a database in memory, and the user `ada` with a session. Its lines on
 * standard input are Python code.
 * @param {string} secret of UPLINK_SECRETS
 */
const project = (secret) => `
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
from threading import Thread
import django
from django.conf import settings
settings.configure(
    SECRET_KEY="of this test", ROOT_URLCONF="urls", ALLOWED_HOSTS=["*"], UPLINK_SECRETS="${secret}", USE_TZ=True,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware"],
    SESSION_ENGINE="django.contrib.sessions.backends.db",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "test.sqlite3"}},
)
django.setup()
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.contrib.auth.models import User
from django.test import Client
call_command("migrate", verbosity=0)
ada = User.objects.create_user("ada", password="x")
client = Client()
client.force_login(ada)
class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass
server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, ada.pk, client.cookies["sessionid"].value, flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
`

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {string} options.folder with the view in \`django_connect.py\`
 * @param {string} options.secret
 */
export async function startDjango (t, { folder: cwd, secret }) {
  const urls = 'from django.urls import path\nfrom django_connect import connect\nurlpatterns = [path("connect", connect)]\n'
  writeFileSync(join(cwd, 'urls.py'), urls)
  // a program of -c imports from its folder
  const child = spawn(python, ['-c', project(secret)], { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const [port, pk, cookie] = String((await lines.next()).value).split(' ')
  return {
    url: `http://127.0.0.1:${port}/connect`,
    pk,
    cookie,
    /** @param {string} code a line of Python */
    async run (code) {
      child.stdin.write(`${code}\n`)
      await lines.next()
    }
  }
}
