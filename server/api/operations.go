package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/openapi"
	"github.com/writ-policy/writ/server/auth"
)

// operations is the endpoints for the server's operation.
type operations struct {
	service *exchange.Service
	options *Options
}

// inOperation describes the endpoints.
var inOperation = openapi.Operation{Tag: "Operation"}

// probes are the endpoints of probes, on every listener for callers and for metrics.
func (s *operations) probes() []route {
	ready := inOperation.For("Answers if requests should be sent here.", nil, nil)
	ready.Others = map[int]any{http.StatusServiceUnavailable: nil}
	return []route{
		{
			methods: "GET HEAD", pattern: "/healthz", role: auth.Public, handler: s.healthz, quiet: true,
			about: inOperation.For("Answers if the process does.", nil, nil),
		},
		{methods: "GET HEAD", pattern: "/readyz", role: auth.Public, handler: s.readyz, quiet: true, about: ready},
	}
}

// pages are the endpoints for people.
func (s *operations) pages() []route {
	return []route{
		{
			methods: "GET HEAD", pattern: "/v1/status", role: auth.Authenticated, handler: s.status,
			about: inOperation.For("Shows what is served, and to auditors the documents and their mistakes.", nil, openapi.Partial{Of: s.options.StatusForm}),
		},
		s.start(fmt.Sprintf(index, s.whereConsole())),
	}
}

func (s *operations) metrics() route {
	return route{
		methods: "GET HEAD", pattern: "/metrics", role: auth.Authenticated, handler: s.options.Metrics.Handler().ServeHTTP,
		about: inOperation.For("Shows metrics for Prometheus.", nil, nil),
	}
}

// pokes is the endpoint for webhooks of forges and registries.
func (s *operations) pokes() route {
	about := inOperation.For("Makes the source look for new documents; the caller proves that it knows the secret.", nil, nil)
	about.Status = http.StatusAccepted
	return route{methods: "POST", pattern: "/v1/poke", role: auth.Public, handler: s.poke, about: about}
}

// healthz answers while the process does.
func (s *operations) healthz(w http.ResponseWriter, _ *http.Request) {
	exchange.Write(w, http.StatusOK, exchange.PlainText, []byte("ok\n"))
}

// index is the text at "/", for people; %s is where the web console is.
const index = `writ answers requests for decisions.

Decisions
  POST /v1/decisions/access        {"user":"ada","verb":"get","resource":"pods","namespace":"shop"}
  POST /v1/decisions/visibility    {"user":"ada","type":"pods","cluster":{"name":"east"}}
  POST /v1/decisions/gateway       attributes of a request through a gateway
  POST /apis/authorization.k8s.io/v1/subjectaccessreviews
  POST /v1/data/writ/access/decision   as OPA's Data API, {"input":REQUEST}
  POST /access/v1/evaluation       OpenID AuthZEN 1.0, also evaluations and search/...

Operations
  GET  /healthz, /readyz           for probes
  GET  /v1/status                  the active revision and the mistakes in documents
  GET  /metrics                    for Prometheus
  GET  /v1/openapi.json            all endpoints, as OpenAPI 3.1

Web console
  %s

Try: curl -d '{"user":"ada","verb":"get","resource":"pods","namespace":"shop"}' ADDRESS/v1/decisions/access
Documents: writ explain, writ COMMAND --help, and docs/http.md of the project.
`

// consoleIndex is the text at "/" of a listener for the web console alone.
const consoleIndex = `This listener of writ has the web console at /page/, and its endpoints: GET /v1/openapi.json lists them.
Decisions are at the address of --listen.
Documents: writ serve --help, and docs/http.md of the project.
`

// whereConsole is where the web console is, for people. It names no address,
// because everybody may read it.
func (s *operations) whereConsole() string {
	switch {
	case s.options.Console != nil:
		return "GET  /page/                      for browsers"
	case s.options.ConsoleApart:
		return "at a listener of its own (--page-listen), whose address is in the log of the server"
	}
	return "not served; see --page and --page-listen of writ serve"
}

// start answers people who open the address in a browser with a text.
func (s *operations) start(text string) route {
	return route{
		methods: "GET HEAD", pattern: "/", role: auth.Public, about: inOperation.For("Shows what is where.", nil, nil),
		handler: func(w http.ResponseWriter, _ *http.Request) {
			exchange.Write(w, http.StatusOK, exchange.PlainText, []byte(text))
		},
	}
}

// readyz answers whether requests should be sent here.
func (s *operations) readyz(w http.ResponseWriter, _ *http.Request) {
	if !s.options.Ready() {
		exchange.Write(w, http.StatusServiceUnavailable, exchange.PlainText, []byte("not ready\n"))
		return
	}
	exchange.Write(w, http.StatusOK, exchange.PlainText, []byte("ok\n"))
}

// status shows auditors everything, and other callers no documents and no diagnostics.
func (s *operations) status(w http.ResponseWriter, r *http.Request) {
	details := s.service.Rule.Has(auth.CallerOf(r.Context()), auth.Auditor)
	body, err := json.MarshalIndent(s.options.Status(details), "", "  ")
	if err != nil {
		s.service.Logger.Error("the status cannot be shown", "error", err)
		s.service.Refuse(w, exchange.Problem, exchange.Internal)
		return
	}
	exchange.Write(w, http.StatusOK, exchange.JSON, append(body, '\n'))
}

// Headers by which forges prove that they know the secret: GitHub signs the body,
// GitLab sends the secret itself.
const (
	githubSignature = "X-Hub-Signature-256"
	gitlabToken     = "X-Gitlab-Token"
)

// maxPoke bounds a webhook's body.
const maxPoke = 1 << 20

// poke makes the source look for new documents. The body is hashed and neither kept nor
// interpreted: the source itself is read.
func (s *operations) poke(w http.ResponseWriter, r *http.Request) {
	secret := s.options.PokeSecret()
	mac := hmac.New(sha256.New, secret)
	_, err := io.Copy(mac, http.MaxBytesReader(w, r.Body, maxPoke))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		s.service.Refuse(w, exchange.Problem, &exchange.Refusal{Status: http.StatusRequestEntityTooLarge, Message: "the body is too large"})
	case err != nil:
		s.service.Refuse(w, exchange.Problem, &exchange.Refusal{Status: http.StatusBadRequest, Message: "the body could not be read"})
	case len(secret) == 0 || !knows(r.Header, mac.Sum(nil), secret):
		s.service.Refuse(w, exchange.Problem, &exchange.Refusal{Status: http.StatusForbidden, Message: "the request does not prove that it knows the secret"})
	default:
		s.options.Poke()
		exchange.Write(w, http.StatusAccepted, exchange.PlainText, []byte("looking\n"))
	}
}

// knows reports whether the headers prove that the secret is known. Where there is a
// signature of the body, it alone counts.
func knows(header http.Header, signature, secret []byte) bool {
	if text, ok := strings.CutPrefix(header.Get(githubSignature), "sha256="); ok {
		given, err := hex.DecodeString(text)
		return err == nil && hmac.Equal(given, signature)
	}
	token := sha256.Sum256([]byte(header.Get(gitlabToken)))
	want := sha256.Sum256(secret)
	return header.Get(gitlabToken) != "" && subtle.ConstantTimeCompare(token[:], want[:]) == 1
}
