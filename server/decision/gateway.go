package decision

import "errors"

// GatewayRequest is a request at the gateway point: attributes by Envoy's names, as
// JSON values with numbers as json.Number. Which there must be, and their types, is
// checked where they are evaluated.
type GatewayRequest struct {
	Attributes map[string]any
}

// GatewayDecision is the answer to a GatewayRequest. Its zero value is a denial
// that says nothing: neither allowed nor of any status.
type GatewayDecision struct {
	Allowed bool `json:"allowed"`
	// Denied means an explicit denial or an evaluation error.
	Denied bool `json:"denied"`
	// Status is what the client is to be answered with; 200 where Allowed.
	Status   int      `json:"status"`
	Reason   string   `json:"reason"`
	Warnings []string `json:"warnings"`
	// Target is the path the request takes, nil where it takes none.
	Target *GatewayTarget `json:"target,omitempty"`
	// Policies are the locators of the effective policy's sources, sorted.
	Policies []string `json:"policies"`
	// Rules says what each evaluated authorization rule came to: allow, deny, error
	// or skip.
	Rules   map[string]string `json:"rules"`
	Matched []MatchedRule     `json:"matched"`
	// Response is what a denial says; nil otherwise.
	Response *GatewayResponse  `json:"response,omitempty"`
	Headers  map[string]string `json:"headers"`
	Metadata map[string]any    `json:"metadata"`
	// Withheld are headers that the path's policy can set and does not set now, in
	// lower case and sorted: one of the same name that a client sends must not pass for
	// the policy's.
	Withheld []string `json:"-"`
	// EvaluationError is why no decision was reached, empty if one was.
	EvaluationError string `json:"-"`
	// Revision is the revision of the bundle that answered.
	Revision string `json:"-"`
}

// GatewayTarget names the listener and the route's rule of a path.
type GatewayTarget struct {
	Gateway string `json:"gateway"`
	Route   string `json:"route"`
}

// MatchedRule is a rule of an effective policy that decided, by its key.
type MatchedRule struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      string `json:"rule"`
	Source    string `json:"source"`
}

// GatewayResponse is the answer to a denied client.
type GatewayResponse struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// DecodeGateway reads the JSON of a request at the gateway point. The error is an
// *InvalidRequest.
func DecodeGateway(data []byte) (*GatewayRequest, error) {
	value, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return GatewayFromValue(value)
}

// GatewayFromValue is DecodeGateway for a parsed body. The error is an *InvalidRequest.
func GatewayFromValue(value Value) (*GatewayRequest, error) {
	if !value.IsObject() {
		return nil, invalid("", "the request is not a JSON object")
	}
	return &GatewayRequest{Attributes: value.Any().(map[string]any)}, nil
}

// EffectiveQuestion asks about effective policies: for the policy of a target, or
// with Reach or Replaced set for a list over all paths.
type EffectiveQuestion struct {
	// Kind is AuthPolicy or RateLimitPolicy.
	Kind string
	// Target and Via are written Kind/namespace/name, with #section where one is
	// meant. Via may be empty.
	Target, Via string
	// Reach is a rule key: where is it in force?
	Reach string
	// Replaced asks for the rules that lost, of one Policy, namespace/name, unless
	// that is empty.
	Replaced bool
	Policy   string
}

// Errors of an EffectiveQuestion. What wraps them says more.
var (
	ErrUnknownTarget = errors.New("no such target")
	ErrMalformed     = errors.New("the question is malformed")
	ErrNoRevision    = errors.New("no revision is loaded")
)
