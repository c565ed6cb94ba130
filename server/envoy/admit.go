package envoy

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/writ-policy/writ/server/auth"
)

// admit checks who sends a check. Its error is a status: a caller that is not
// authenticated is not the proxy, and gets no decision. The authority of the call is not
// compared with the names of the listener, as the header Host is: a proxy sends the name
// of its cluster there, and a browser cannot speak gRPC without a header that marks it.
func (c *checker) admit(ctx context.Context) error {
	received, _ := metadata.FromIncomingContext(ctx)
	if len(received.Get("origin"))+len(received.Get("sec-fetch-site")) > 0 {
		return status.Error(codes.PermissionDenied, "requests of browsers are not answered")
	}
	given := auth.Credentials{Authorization: received.Get("authorization")}
	from, _ := grpcpeer.FromContext(ctx)
	if from != nil {
		if info, ok := from.AuthInfo.(credentials.TLSInfo); ok {
			given.TLS = &info.State
		}
	}
	_, err := c.Rule.Admit(ctx, given, auth.Decisions)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrRole):
		return status.Error(codes.PermissionDenied, err.Error())
	}
	c.Logger.InfoContext(ctx, "a caller was not accepted", "error", err)
	if errors.Is(err, auth.ErrUnavailable) {
		return status.Error(codes.Unavailable, auth.ErrUnavailable.Error())
	}
	return status.Error(codes.Unauthenticated, "the call needs a caller the server can authenticate")
}
