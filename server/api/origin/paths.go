package origin

import (
	"net/http"
	"strings"

	"github.com/writ-policy/writ/server/api/exchange"
)

// Paths of the Origin API: that of a review, or of all objects of a kind, and that of one
// object. Kinds are compared without regard to case, which no route pattern can express.
const (
	Path      = "/api/:version/ns/:namespace/:resource"
	NamedPath = Path + "/:name"
)

// Methods returns the methods of a path of the Origin API, as in the header Allow, empty if
// it does not exist. It reports false for a path of another API.
func Methods(path string) (methods string, isOrigin bool) {
	parts := strings.Split(path, "/")
	if len(parts) < 6 || len(parts) > 7 || parts[1] != "api" || parts[3] != "ns" {
		return "", false
	}
	isNamed, segment := len(parts) == 7, parts[5]
	switch {
	case !isVersion(parts[2]) || parts[4] == "" || isNamed && parts[6] == "":
	case kinds[strings.ToLower(segment)] != "":
		methods = "GET, HEAD"
	case reviewOf(segment).kind != "" && !isNamed:
		methods = http.MethodPost
	}
	return methods, true
}

// only returns a handler that refuses paths without the method. Both methods have one
// pattern, so the router cannot.
func (s *Reviews) only(method string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		methods, _ := Methods(r.URL.Path)
		if strings.HasPrefix(methods, method) {
			next(w, r)
			return
		}
		s.Refuse(w, methods)
	}
}

// Refuse answers a request with a method that its path does not have; without methods the
// path does not exist.
func (s *Reviews) Refuse(w http.ResponseWriter, methods string) {
	if methods == "" {
		w.Header().Del("Allow")
		s.Service.Refuse(w, exchange.Status, exchange.NotFound)
		return
	}
	w.Header().Set("Allow", methods)
	s.Service.Refuse(w, exchange.Status, exchange.MethodNotAllowed(methods))
}
