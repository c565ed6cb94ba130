package kubernetes

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/writ-policy/writ/server/api/exchange"
)

// maxProtobuf bounds a body in protobuf; the rest is not read. That of kubectl has fewer than
// 200 bytes.
const maxProtobuf = 4 << 10

// rulesReviews decodes SelfSubjectRulesReviews, in protobuf too.
var rulesReviews = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(authorizationv1.SchemeGroupVersion, &authorizationv1.SelfSubjectRulesReview{})
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// acceptProtobuf gives next a body in protobuf as JSON: kubectl sends SelfSubjectRulesReviews
// so. Its answer is JSON, which kubectl accepts as well.
func acceptProtobuf(service *exchange.Service, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
			next(w, r)
			return
		}
		received, err := io.ReadAll(io.LimitReader(r.Body, maxProtobuf))
		if err != nil {
			service.Refuse(w, exchange.Status, exchange.BodyIncomplete)
			return
		}
		review, _, err := rulesReviews.Decode(received, nil, nil)
		if err != nil {
			service.Refuse(w, exchange.Status, exchange.BadRequest("", "the body is not a SelfSubjectRulesReview in protobuf"))
			return
		}
		text, err := json.Marshal(review)
		if err != nil {
			service.Refuse(w, exchange.Status, exchange.Internal)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Type", "application/json")
		next(w, r)
	}
}
