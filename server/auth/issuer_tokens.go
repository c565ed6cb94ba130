package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// reserved is the prefix of users and groups that Kubernetes gives meaning to.
const reserved = "system:"

// Authenticate returns the caller that a token of the issuer names. A token of another
// issuer is errForeign, so that another authenticator may accept it.
func (i *Issuer) Authenticate(ctx context.Context, c Credentials) (*Caller, error) {
	token, err := bearer(c.Authorization)
	if token == "" {
		return nil, err
	}
	signed, err := jose.ParseSignedCompact(token, asymmetric)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errForeign
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &claims); err != nil || claims.Issuer != i.o.URL {
		return nil, errForeign
	}
	keys := i.active.Load()
	if keys == nil || len(keys.named(signed.Signatures[0].Header.KeyID)) == 0 {
		if _, err := i.refresh(ctx); err != nil && keys == nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if keys = i.active.Load(); keys == nil {
			return nil, fmt.Errorf("%w: the keys of the issuer are not read yet", ErrUnavailable)
		}
	}
	verified, err := keys.verifier.Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, fmt.Errorf("%w: the token is expired", errCredentials)
	case err != nil: // its text has parts of the token
		return nil, fmt.Errorf("%w: signature, audience or time of the token", errCredentials)
	}
	return i.o.caller(verified)
}

// caller returns the caller that the claims of a verified token name.
func (o *IssuerOptions) caller(token *oidc.IDToken) (*Caller, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: the claims of the token are malformed", errCredentials)
	}
	name, _ := claims[o.UsernameClaim].(string)
	verified, stated := claims["email_verified"]
	switch {
	case name == "":
		return nil, fmt.Errorf("%w: the claim %q of the token must be a string that is not empty", errCredentials, o.UsernameClaim)
	case o.UsernameClaim == "email" && stated && verified != true:
		return nil, fmt.Errorf("%w: the email address of the token is not verified", errCredentials)
	case strings.HasPrefix(o.UsernamePrefix+name, reserved):
		return nil, fmt.Errorf("%w: the user of the token begins with %s", errCredentials, reserved)
	}
	caller := &Caller{Name: o.UsernamePrefix + name, UID: token.Subject}
	if o.GroupsClaim == "" {
		return caller, nil
	}
	groups, isList := claims[o.GroupsClaim].([]any)
	if one, isText := claims[o.GroupsClaim].(string); isText {
		groups, isList = []any{one}, true
	}
	if claims[o.GroupsClaim] != nil && !isList {
		return nil, fmt.Errorf("%w: the claim %q of the token must be a list of strings", errCredentials, o.GroupsClaim)
	}
	for _, group := range groups {
		text, isText := group.(string)
		if !isText || text == "" {
			return nil, fmt.Errorf("%w: the claim %q of the token must be a list of strings", errCredentials, o.GroupsClaim)
		}
		if text = o.GroupsPrefix + text; !strings.HasPrefix(text, reserved) {
			caller.Groups = append(caller.Groups, text)
		}
	}
	return caller, nil
}
