package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/writ-policy/writ/client"
	"github.com/writ-policy/writ/server"
)

// exampleServer is a server of the example policies, for all tests.
var exampleServer = sync.OnceValue(func() *httptest.Server {
	config := server.Defaults()
	config.Policies = []string{examples}
	s, err := server.New(config)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Load(context.Background()); err != nil {
		log.Fatal(err)
	}
	return httptest.NewServer(s.Handler())
})

func Example() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := c.Access(ctx, &client.AccessRequest{
		User: "Edgar", Verb: "delete", Resource: "services", Namespace: "hammer",
	})
	if err != nil {
		log.Fatal(err) // not decided: do not permit
	}
	fmt.Println(d.Allowed, d.Matched[0].Source)
	// Output:
	// true stock/origin.yaml:20
}

func ExampleError() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Access(context.Background(), &client.AccessRequest{User: "Edgar", Resource: "services"})
	var refused *client.Error
	var invalid *client.InvalidRequest
	fmt.Println(errors.As(err, &refused) && refused.Status == 400, errors.As(err, &invalid) && invalid.Field == "verb")
	// Output:
	// true true
}

func ExampleClient_Evaluate() {
	c, err := client.New(client.Options{URL: exampleServer().URL})
	if err != nil {
		log.Fatal(err)
	}
	d, err := c.Evaluate(context.Background(), &client.Evaluation{
		Subject:  client.Entity{Type: "user", ID: "Edgar"},
		Action:   client.Action{Name: "delete"},
		Resource: client.Entity{Type: "services", ID: "web", Properties: map[string]any{"namespace": "hammer"}},
	})
	fmt.Println(d.Decision, err)
	// Output:
	// true <nil>
}
