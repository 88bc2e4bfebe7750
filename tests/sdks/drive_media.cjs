// Images, speech and transcripts of two clients for JavaScript, case by case, against the emulator: the name of a client and the URL of an emulator; NODE_PATH says where they are installed; a line of JSON a case.
const [name, url] = process.argv.slice(2);
const PNG = Buffer.from("89504e470d0a1a0a", "hex");
const WAV = Buffer.concat([Buffer.from("524946461401000057415645666d74201000000001000100401f0000401f00000100080064617461f0000000", "hex"), Buffer.alloc(240, 128)]);
const prompt = "A cat on a pier";
const size = (text) => (text === undefined ? null : Buffer.from(text, "base64").length);

async function all(events) {
  const found = [];
  for await (const event of await events) found.push(event);
  return found;
}

function casesOfOpenAI() {
  const { OpenAI, toFile } = require("openai");
  const { images, audio } = new OpenAI({ apiKey: "fake-key", baseURL: `${url}/v1`, maxRetries: 0 });
  const model = "gpt-image-2";
  const said = { model: "gpt-4o-mini-tts", input: "The tide is high.", voice: "alloy" };
  const png = (file) => toFile(PNG, file, { type: "image/png" });
  const wav = () => toFile(WAV, "talk.wav", { type: "audio/wav" });
  const drawn = ({ data, usage, quality }) => [data.map((each) => size(each.b64_json)), quality, usage.total_tokens];
  const events = (found) => [found.map((each) => each.type), size(found.at(-1).b64_json)];
  return {
    images: async () => drawn(await images.generate({ model, prompt, n: 2, quality: "high" })),
    images_streamed: async () => events(await all(images.generate({ model, prompt, stream: true, partial_images: 2 }))),
    images_refused: async () => images.generate({ model, prompt, quality: "ultra" }),
    edit: async () => drawn(await images.edit({ model, prompt: "Blue", image: await png("a.png") })),
    edit_several_with_a_mask: async () => {
      const image = [await png("a.png"), await png("b.png")];
      return drawn(await images.edit({ model, prompt: "Blue", image, mask: await png("mask.png") }));
    },
    edit_streamed: async () => events(await all(images.edit({ model, prompt: "Blue", image: await png("a.png"), stream: true }))),
    speech: async () => {
      const answer = await audio.speech.create(said);
      return [answer.headers.get("content-type"), (await answer.arrayBuffer()).byteLength];
    },
    speech_as_events: async () => {
      const answer = await audio.speech.create({ ...said, stream_format: "sse" });
      const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("data: "));
      return lines.map((line) => JSON.parse(line.slice(6)).type);
    },
    speech_refused: async () => audio.speech.create({ ...said, voice: "nobody" }),
    transcript: async () => {
      const answer = await audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav() });
      return [answer.text, answer.usage.type];
    },
    transcript_words: async () => {
      const asked = { response_format: "verbose_json", timestamp_granularities: ["word", "segment"] };
      const answer = await audio.transcriptions.create({ model: "whisper-1", file: await wav(), ...asked });
      return [answer.words.length, answer.segments.length, answer.language, answer.duration];
    },
    transcript_with_chunks: async () => {
      const chunking_strategy = { type: "server_vad", silence_duration_ms: 500 };
      return (await audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav(), chunking_strategy })).text;
    },
    transcript_subtitles: async () => audio.transcriptions.create({ model: "whisper-1", file: await wav(), response_format: "srt" }),
    transcript_diarized: async () => {
      const asked = { response_format: "diarized_json", chunking_strategy: "auto" };
      const answer = await audio.transcriptions.create({ model: "gpt-4o-transcribe-diarize", file: await wav(), ...asked });
      return answer.segments.map(({ id, speaker }) => [id, speaker]);
    },
    transcript_streamed: async () => {
      const found = await all(audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav(), stream: true }));
      return [found.slice(0, -1).map((each) => each.delta).join(""), found.at(-1).text, found.at(-1).type];
    },
    transcript_refused: async () => audio.transcriptions.create({ model: "gpt-4o-transcribe", file: await wav(), response_format: "srt" }),
    translation: async () => (await audio.translations.create({ model: "whisper-1", file: await wav() })).text,
  };
}

function casesOfGoogle() {
  const { GoogleGenAI } = require("@google/genai");
  const httpOptions = { baseUrl: url };
  const { models } = new GoogleGenAI({ apiKey: "fake-key", httpOptions });
  const token = { getRequestHeaders: async () => new Headers({ authorization: "Bearer fake-key" }) };
  const place = { enterprise: true, project: "my-project", location: "us-central1" };
  const vertex = new GoogleGenAI({ ...place, httpOptions, googleAuthOptions: { authClient: token } }).models;
  const imagen = (config) => vertex.generateImages({ model: "imagen-4.0-generate-001", prompt, config });
  const parts = (answer) => answer.candidates[0].content.parts.flatMap(({ inlineData }) => (inlineData ? [inlineData] : []));
  const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } };
  const spoken = { model: "gemini-3.8-flash-tts", contents: "The tide is high.", config: { responseModalities: ["AUDIO"], speechConfig } };
  return {
    imagen: async () => {
      const { generatedImages } = await imagen({ numberOfImages: 2, aspectRatio: "16:9" });
      return generatedImages.map(({ image }) => [size(image.imageBytes), image.mimeType]);
    },
    imagen_refused: async () => imagen({ numberOfImages: 9 }),
    image: async () => {
      const config = { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9" } };
      const found = parts(await models.generateContent({ model: "gemini-3.1-flash-image", contents: prompt, config }));
      return found.map(({ data, mimeType }) => [size(data), mimeType]);
    },
    speech: async () => parts(await models.generateContent(spoken)).map(({ data, mimeType }) => [size(data), mimeType]),
    speech_streamed: async () => {
      const chunks = await all(models.generateContentStream(spoken));
      return chunks.flatMap(parts).map(({ data }) => size(data));
    },
    transcript: async () => {
      const contents = [{ inlineData: { data: WAV.toString("base64"), mimeType: "audio/wav" } }];
      const config = { audioTranscriptionConfig: { wordTimestamp: true, diarization: true } };
      const answer = await models.generateContent({ model: "gemini-3.8-flash", contents, config });
      const [found] = answer.candidates[0].content.parts.map((part) => part.audioTranscription);
      return [found.text, found.speakerLabel];
    },
  };
}

(async () => {
  const cases = name === "openai" ? casesOfOpenAI() : casesOfGoogle();
  for (const [named, work] of Object.entries(cases)) {
    try {
      console.log(JSON.stringify([named, "ok", await work()]));
    } catch (error) {
      console.log(JSON.stringify([named, error.constructor.name, error.status ?? null, error.code ?? null, error.status ? undefined : String(error)]));
    }
  }
})();
