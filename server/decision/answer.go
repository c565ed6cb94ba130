package decision

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Answer decides a request of a point and returns the decision as JSON. The error is an
// *InvalidRequest if the request is invalid.
func Answer(ctx context.Context, p Policies, point Point, request []byte) ([]byte, error) {
	switch point {
	case Access:
		r, err := Decode(request)
		if err != nil {
			return nil, AsInvalidRequest(err)
		}
		d := p.Access(ctx, r)
		return d.AppendJSON(nil), nil
	case Visibility:
		r, err := DecodeVisibility(request)
		if err != nil {
			return nil, AsInvalidRequest(err)
		}
		d := DecideVisibility(ctx, p, r, p.Visibility(ctx, r))
		return d.AppendJSON(nil), nil
	case Gateway:
		r, err := DecodeGateway(request)
		if err != nil {
			return nil, AsInvalidRequest(err)
		}
		d, refused := p.Gateway(ctx, r)
		if refused != nil {
			return nil, refused
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(d)
		return bytes.TrimSpace(out.Bytes()), err
	}
	return nil, fmt.Errorf("unknown point %q", point)
}
