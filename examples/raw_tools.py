"""Asks a question that needs a tool: streams the response, runs the calls, sends the results."""

from datetime import date

from wire import Client, gemini

WEATHER = {
    "paris": (15, "light rain"),
    "oslo": (4, "snow"),
    "東京": (21, "clear"),
    "nairobi": (24, "sunny"),
}


def get_weather(city: str) -> dict[str, object]:
    temp_c, sky = WEATHER.get(city.lower(), (18, "unknown, so take a coat"))
    return {"city": city, "temp_c": temp_c, "sky": sky}


def days_between(start: str, end: str) -> int:
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


FUNCTIONS = {"get_weather": get_weather, "days_between": days_between}
DAY = {"type": "string", "format": "date"}
TOOLS = gemini.tools(
    gemini.function_declaration(
        "get_weather",
        "Weather (天気) and temperature of a city",
        {"type": "object", "properties": {"city": {"type": "string"}}},
    ),
    gemini.function_declaration(
        "days_between",
        "How many days lie between two dates",
        {"type": "object", "properties": {"start": DAY, "end": DAY}},
    ),
)


# the guide begins: the client part
def ask(client: Client, model: str, question: str) -> gemini.GenerateContentResponse:
    turns: list[gemini.Turn] = [question]
    while True:
        request = gemini.GenerateContentRequest(contents=gemini.contents(*turns), tools=TOOLS)
        with client.stream(gemini.stream_generate_content(model, request)) as chunks:
            for chunk in chunks:
                print(chunk.text, end="", flush=True)
                for call in chunk.function_calls:
                    print(f"call {call.name}({call.args})")
        answer = chunks.result()
        if not answer.function_calls:
            return answer
        results = [
            gemini.function_response(call, FUNCTIONS[call.name](**call.args))
            for call in answer.function_calls
        ]
        turns += [answer, results]


# the guide ends


if __name__ == "__main__":
    from scripted_gemini import serve

    with serve() as server, Client("gemini", api_key="fake-key", base_url=server.url) as client:
        ask(client, "gemini-3.8-flash", "What is the weather in Paris and in Oslo?")
        print()
