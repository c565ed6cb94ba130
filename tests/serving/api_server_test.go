package serving

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// writSelf is who the API servers take the server under test for.
const writSelf = "system:serviceaccount:writ:writ"

// apiServer answers what client-go asks an API server for, over TLS: pods and
// namespaces by name, and who asks. Before it answers it may ask the server under
// test, as an API server does whose authorizer that is.
type apiServer struct {
	t      *testing.T
	server *httptest.Server
	token  string

	mu         sync.Mutex
	pods       map[string]string // by namespace/name
	namespaces map[string]string // labels by name
	forbidden  map[string]bool   // pods that cannot be read

	podReads, namespaceReads, reviews atomic.Int64
	refused                           atomic.Int64 // of our own reads, by the server under test
	// authorizer is the path of reviews at the server under test; empty: requests
	// are not authorized.
	authorizer atomic.Pointer[string]
	// hold, if set, keeps reads of pods waiting until it is closed.
	hold atomic.Pointer[chan struct{}]
}

func newAPIServer(t *testing.T) *apiServer {
	a := &apiServer{t: t, token: "t0ken-of-writ", pods: map[string]string{}, namespaces: map[string]string{}, forbidden: map[string]bool{}}
	a.server = httptest.NewUnstartedServer(a)
	a.server.EnableHTTP2 = true
	a.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // handshakes that are to fail
	a.server.StartTLS()
	t.Cleanup(a.server.Close)
	return a
}

// kubeconfig writes the file that leads to a, with the token, and says its path.
func (a *apiServer) kubeconfig(dir, name, token string, trusted bool) string {
	a.t.Helper()
	authority := ""
	if trusted {
		authority = "certificate-authority-data: " +
			base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw}))
	}
	return writeFile(a.t, filepath.Join(dir, name), fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: none
clusters: [{name: c, cluster: {server: %q, %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: admin, context: {cluster: c, user: u}}]
`, a.server.URL, authority, token))
}

func writeFile(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+a.token {
		writeStatus(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeStatus(w, http.StatusNotAcceptable, "NotAcceptable", "only application/json is spoken here")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method == "POST" && r.URL.Path == "/apis/authentication.k8s.io/v1/selfsubjectreviews":
		writeObject(w, http.StatusCreated, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"creationTimestamp":null},`+
			`"status":{"userInfo":{"username":"`+writSelf+`","groups":["system:serviceaccounts","system:authenticated"]}}}`)
	case r.Method == "GET" && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") && len(parts) == 4:
		a.namespace(w, parts[3])
	case r.Method == "GET" && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") && len(parts) == 6 && parts[4] == "pods":
		a.pod(w, r, parts[3], parts[5])
	default:
		writeStatus(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
}

func (a *apiServer) pod(w http.ResponseWriter, r *http.Request, namespace, name string) {
	a.podReads.Add(1)
	if hold := a.hold.Load(); hold != nil {
		select {
		case <-*hold:
		case <-r.Context().Done():
			return
		}
	}
	a.mu.Lock()
	pod, forbidden := a.pods[namespace+"/"+name], a.forbidden[namespace+"/"+name]
	a.mu.Unlock()
	switch {
	case forbidden || !a.authorized("pods", namespace, name):
		writeStatus(w, http.StatusForbidden, "Forbidden", `pods "`+name+`" is forbidden: User "`+writSelf+`" cannot get resource: a secret of the cluster`)
	case pod == "":
		writeStatus(w, http.StatusNotFound, "NotFound", `pods "`+name+`" not found`)
	default:
		writeObject(w, http.StatusOK, pod)
	}
}

func (a *apiServer) namespace(w http.ResponseWriter, name string) {
	a.namespaceReads.Add(1)
	a.mu.Lock()
	labels, known := a.namespaces[name]
	a.mu.Unlock()
	switch {
	case !a.authorized("namespaces", name, name):
		writeStatus(w, http.StatusForbidden, "Forbidden", "forbidden")
	case !known:
		writeStatus(w, http.StatusNotFound, "NotFound", `namespaces "`+name+`" not found`)
	default:
		writeObject(w, http.StatusOK, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"`+name+`","uid":"u","labels":`+labels+`},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`)
	}
}

// authorized asks the server under test about its own read, as a webhook
// authorizer is asked.
func (a *apiServer) authorized(resource, namespace, name string) bool {
	url := a.authorizer.Load()
	if url == nil {
		return true
	}
	a.reviews.Add(1)
	spec := fmt.Sprintf(`{"user":%q,"groups":["system:authenticated"],"resourceAttributes":{"verb":"get","version":"v1","resource":%q,"namespace":%q,"name":%q}}`,
		writSelf, resource, namespace, name)
	response, err := http.Post(*url+"?timeout=30s", "application/json", strings.NewReader(reviewOf(spec)))
	if err != nil {
		a.refused.Add(1)
		return false
	}
	defer response.Body.Close()
	var review struct{ Status struct{ Allowed bool } }
	if json.NewDecoder(response.Body).Decode(&review) != nil || !review.Status.Allowed {
		a.refused.Add(1)
	}
	return review.Status.Allowed
}

func reviewOf(spec string) string {
	return `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":` + spec + `,"status":{"allowed":false}}`
}

func writeStatus(w http.ResponseWriter, code int, reason, message string) {
	text, _ := json.Marshal(message)
	writeObject(w, code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%s,"reason":%q,"code":%d}`, text, reason, code))
}

func writeObject(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}
