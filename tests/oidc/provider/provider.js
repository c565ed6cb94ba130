// An OpenID provider for the test beside this folder: oidc-provider over TLS on loopback,
// with the certificate CERT and the key KEY. It prints its issuer, and then a line for each
// command that it reads: add (a key that signs from now on), withdraw (all keys but that
// one), certificate (read CERT and KEY again).
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import readline from 'node:readline';
import { Provider } from 'oidc-provider';

const [cert, key] = process.argv.slice(2);
const pair = () => ({ cert: readFileSync(cert), key: readFileSync(key) });
const clients = ['writ', 'other'].map((client_id) => ({
  client_id,
  client_secret: `secret-of-${client_id}`,
  id_token_signed_response_alg: 'ES256',
  redirect_uris: ['https://client.example/callback'],
}));

let issuer;
let keys = [];
let callback;

function build() {
  callback = new Provider(issuer, {
    clients,
    jwks: { keys },
    claims: { openid: ['sub', 'groups', 'email'] },
    conformIdTokenClaims: false, // claims of the account stand in the ID token
    cookies: { keys: ['cookies'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: ['dev', 'system:masters'], email: `${id}@client.example` }),
    }),
    ttl: {
      AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, Interaction: 3600, Session: 3600,
      IdToken: (ctx) => (ctx.oidc.entities.Account?.accountId === 'brief' ? 2 : 3600), // seconds
    },
  }).callback();
}

function add() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  keys = [{ ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'ES256' }, ...keys];
}

const server = https.createServer(pair(), (request, response) => callback(request, response));
const commands = {
  add,
  withdraw: () => { keys = keys.slice(0, 1); },
  certificate: () => { server.setSecureContext(pair()); server.closeIdleConnections(); },
};

server.listen(0, '127.0.0.1', () => {
  issuer = `https://127.0.0.1:${server.address().port}`;
  add();
  build();
  console.log(issuer);
  readline.createInterface({ input: process.stdin }).on('line', (command) => {
    commands[command]();
    build();
    console.log(`did ${command}`);
  }).on('close', () => process.exit(0));
});
